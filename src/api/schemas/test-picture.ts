/**
 * A test picture that is being published.
 */
import { Type } from '#lib/schema.ts';
import { MILLISECONDS } from './text.ts';

/** A test picture. */
export const TestPictureSchema = Type.Object(
  { until: Type.Integer({ description: `When the test picture ends by itself, in ${MILLISECONDS}.` }) },
  { $id: 'TestPicture', examples: [{ until: 1_795_175_167_399 }] },
);
