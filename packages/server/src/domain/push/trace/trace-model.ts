import type { Int64, PushChannel } from '@hermod/protocol'
import type { DeviceBinding } from '../deliveries/channel-choice.js'
import type { Delivery } from '../deliveries/delivery-model.js'
import type { TaskProgress } from '../tasks/task-model.js'

/** A binding of a device, with the channel of its certificate; '' = there is no such certificate. */
export type TracedBinding = Omit<DeviceBinding, 'deviceToken'> & {
  readonly channel: PushChannel | ''
}

/** A push, as one device met it. */
export interface TracedDevice {
  readonly deviceSn: number
  /** One of platform; null: the device was removed since. */
  readonly platform: number | null
  readonly bindings: readonly TracedBinding[]
  /** null: there is none, or it is not kept any more */
  readonly delivery: Delivery | null
  /** The result, as a sentence. */
  readonly text: string
}

/** The trace of a push for one user. */
export interface Trace {
  readonly progress: TaskProgress
  readonly userId: Int64
  readonly isInAudience: boolean
  /** In sentences. */
  readonly text: string
  /** By serial number. */
  readonly devices: readonly TracedDevice[]
}
