/**
 * The state of a server, as an admin sees it.
 */
import { CHECK_STATES, CHECKS, type Check } from '#api/doctor.ts';
import { Type } from '#lib/schema.ts';
import { MILLISECONDS } from './text.ts';

/** The state of a server. */
export const DoctorSchema = Type.Object(
  {
    checkedAt: Type.Integer({ description: `When the checks were made, in ${MILLISECONDS}.` }),
    nodeId: Type.String({ format: 'uuid', description: 'The server that answered.' }),
    checks: Type.Array(
      Type.Object({
        id: Type.Unsafe<Check['id']>({ type: 'string', enum: CHECKS, description: 'The check, for programs.' }),
        state: Type.Unsafe<Check['state']>({ type: 'string', enum: CHECK_STATES }),
        message: Type.String({ description: 'The result, and what to do, as a sentence for people.' }),
      }),
    ),
    versions: Type.Object({ millrace: Type.String(), node: Type.String(), platform: Type.String() }),
    settings: Type.Array(
      Type.Object({
        name: Type.String(),
        value: Type.Optional(Type.String({ description: 'Absent when the setting is not set.' })),
        isSecret: Type.Boolean({ description: 'Whether the value is not shown because it is secret.' }),
      }),
      { description: 'The settings in force.' },
    ),
  },
  {
    $id: 'Doctor',
    examples: [
      {
        checkedAt: 1_795_175_107_399,
        nodeId: '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e11',
        checks: [{ id: 'database', state: 'ok', message: 'The database answers in 2 ms.' }],
        versions: { millrace: '0.9.0', node: '26.1.0', platform: 'linux x64' },
        settings: [{ name: 'MILLRACE_HTTP_PORT', value: '8080', isSecret: false }],
      },
    ],
  },
);

/** One of the servers that share a database. */
export const NodeSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    url: Type.Optional(
      Type.String({ description: 'The URL at which other servers reach it. Absent for a single server.' }),
    ),
    isThis: Type.Boolean({ description: 'Whether this is the server that answered.' }),
    isAlive: Type.Boolean({
      description: 'Whether the server holds its lease. A server that is down loses it within seconds.',
    }),
    leaseLeft: Type.Optional(
      Type.Number({ description: 'Seconds until its lease expires unless it is renewed. Absent for a single server.' }),
    ),
    sessions: Type.Integer({ description: 'Sessions that have not ended.' }),
    publishers: Type.Integer({ description: 'Connected publishers.' }),
    load: Type.Optional(
      Type.Object(
        {
          cores: Type.Integer(),
          busyCores: Type.Number({ description: 'The number of cores in use, on average over the last minute.' }),
          memory: Type.Integer({ description: 'Bytes that the server process uses.' }),
          uptime: Type.Integer({ description: 'Seconds since the server started.' }),
        },
        { description: 'The load of the server that answered. Absent for the others.' },
      ),
    ),
  },
  {
    $id: 'Node',
    examples: [
      {
        id: '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e11',
        url: 'http://10.0.0.5:8080',
        isThis: true,
        isAlive: true,
        leaseLeft: 5.2,
        sessions: 12,
        publishers: 12,
        load: { cores: 16, busyCores: 6.4, memory: 310_378_496, uptime: 86_400 },
      },
    ],
  },
);
