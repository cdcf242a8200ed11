/**
 * For platforms that the other entries do not know, such as React Native: a client on ports that the app
 * brings, and the checks of a store. `createClientWith(options, { ...browserPorts(), openStore })` is a
 * client with another store.
 */
export { browserPorts } from './browser/browser-ports.js'
export { createClientWith } from './create-client.js'
export type * from './model/batch.js'
export { altered, type PartialAlteration } from './model/message-fields.js'
export {
  type CachedRead,
  type LogKey,
  type LogRecord,
  type MessageContent,
  type MessageFields,
  type MessageRecord,
  type MessageTexts,
  type MetaRecord,
  type ReplyTo,
  type SeqRange,
  storeFormat,
  type UnsentAlteration,
  type UnsentFile,
  type UnsentRecord,
  type UnsentState,
} from './model/records.js'
export type * from './ports/client-ports.js'
export type * from './ports/clock.js'
export {
  type MessageQuery,
  type OpenStore,
  type Store,
  type StoredState,
  StoreError,
  type StoreFailure,
  type StoreName,
  type StoreReader,
} from './ports/store.js'
export type * from './ports/tabs.js'
export type * from './ports/transport.js'
export { memoryStore } from './stores/memory-store.js'
export { type StoreCheck, storeContract } from './stores/store-contract.js'
export { soloTabs } from './tabs/solo-tabs.js'
