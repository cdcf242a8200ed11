import type { PushBindingStore } from './push-binding-store.js'

/** Operations of other domains on push tokens. */
export type DeviceBindings = Pick<PushBindingStore, 'bind' | 'clear' | 'isBound' | 'pause'>
