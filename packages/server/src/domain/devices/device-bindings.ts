import type { PushBindingStore } from './push-binding-store.js'

/** What other domains do to the tokens of devices at gateways. */
export type DeviceBindings = Pick<PushBindingStore, 'bind' | 'clear' | 'isBound' | 'pause'>
