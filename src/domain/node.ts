/**
 * The node: one process on a database that several share.
 */
import type { NodeId } from './ids.ts';

/** A node as other nodes reach it. */
export interface ServiceNode {
  readonly id: NodeId;
  /** The origin at which other nodes reach its HTTP interface, such as `http://10.0.0.5:8080`. */
  readonly url: string;
}

/** A node with what it owns. */
export interface NodeState extends ServiceNode {
  /** Milliseconds until its lease ends. It is 0 or less for a node that is lost or has left. */
  readonly leaseLeftMs: number;
  /** The sessions that have not ended. */
  readonly sessions: number;
  /** The connected publishers. */
  readonly publishers: number;
}
