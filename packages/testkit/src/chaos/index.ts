export {
  type CheckedHistory,
  checkHistory,
  type HistoryCounts,
  type Violation,
  type ViolationKind,
} from './checker.js'
export {
  type EntryOf,
  History,
  type HistoryEntry,
  type HistoryFunction,
  type HistoryValues,
  type Placed,
  parseHistory,
} from './history.js'
export { Balancer } from './cluster/balancer.js'
export { ChaosCluster, type ChaosClusterOptions } from './cluster/chaos-cluster.js'
export { ChaosNode } from './cluster/chaos-node.js'
export { DatabaseProxy } from './cluster/database-proxy.js'
export {
  databaseFaults,
  type Fault,
  type FaultKind,
  faultKinds,
  planFaults,
  type ScheduleOptions,
} from './schedule.js'
