/**
 * The node: one process on a database that several share.
 */
import type { NodeId } from './ids.ts';

/** A node as the others know it. */
export interface ServiceNode {
  readonly id: NodeId;
  /** Where the others reach its HTTP interface: an origin such as `http://10.0.0.5:8080`. */
  readonly url: string;
}
