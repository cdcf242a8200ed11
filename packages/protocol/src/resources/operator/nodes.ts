import { nodeStates } from '../../enums.js'
import { instant, resource } from '../../resource.js'
import { array, int32, int64, type Static, stringEnum, text } from '../../schema.js'

/** Figures are those of the seconds before the last heartbeat. */
export const OperatorNode = resource('OperatorNode', 'A node of the service.', {
  node_id: text('ID, which the data folder keeps'),
  state: stringEnum(nodeStates, {
    description: 'dead: its heartbeat has not come for 15 s, and other nodes have its work',
  }),
  host: text('name of its machine, and its port'),
  version: text('version of its build'),
  schema: int32({ description: 'number of the schema that its build knows' }),
  lease: int64({ description: 'number of its lease; a node that was taken for dead gets another' }),
  started_at: instant('when it took its lease'),
  heartbeat_age_ms: int64({ description: 'time since its last heartbeat; one comes each 5 s' }),
  connections: int32({ description: 'open WebSockets' }),
  sends_per_second: int32({ description: 'stored messages' }),
  lag_ms: int32({ description: 'longest time for which one piece of work held all others up' }),
  bus: text('state of its connection to the other nodes'),
  memory_bytes: int64({ description: 'memory of the process' }),
  shares: int32({
    description: 'consumers, parts of the webhooks and maintenance tasks that it runs',
  }),
  pool: int32({ description: 'connections to the database at most' }),
  differing_settings: array(text('name of a setting'), {
    description: 'settings that must be alike, and of which another node has another value',
  }),
})
/** A node of the service. */
export type OperatorNode = Static<typeof OperatorNode>

/** Nodes whose lease has been over for a week are no longer listed. */
export const NodeList = resource('NodeList', 'The nodes of the service.', {
  nodes: array(OperatorNode, {
    description: 'by the time of their start; []: the embedded database, which has one node',
  }),
  notices: array(text('sentence'), { description: 'what does not fit together' }),
})
/** The nodes of the service. */
export type NodeList = Static<typeof NodeList>
