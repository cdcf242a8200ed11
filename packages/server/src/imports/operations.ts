import type { Operation } from '@hermod/protocol'

/** Calls an operator operation; the params are those of the wire. */
export type CallOperation = <P, D>(operation: Operation<P, D>, params: object) => Promise<D>
