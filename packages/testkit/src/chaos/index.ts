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
