import { meaningsOf, platform, pushDeliveryState } from '../../enums.js'
import { instant, resource } from '../../resource.js'
import { array, boolean, int32, int64, intEnum, optional, type Static, text } from '../../schema.js'
import { PushTaskProgress } from './push.js'

/** One step of a delivery; its fields depend on the kind of step. */
export const PushTraceStep = resource(
  'PushTraceStep',
  'One step of what happened to a push on a device.',
  {
    at: instant('when it happened'),
    step: text(
      'matched, suppressed, channel_chosen, waiting, tried, token_cleared, receipt, expired, cancelled or left_out',
    ),
    text: text('the step as a sentence'),
    channel: optional(text('channel')),
    certificate: optional(text('name of the certificate')),
    result: optional(text('why it was suppressed, what came of a try, or what a receipt says')),
    code: optional(text('the code of the gateway')),
    reason: optional(text('the words of the gateway')),
    changes: optional(
      text('members of ext that the channel leaves out or renames, and texts that it shortens'),
    ),
    next_at: optional(instant('when it is tried again, or the end of a wait')),
  },
)
/** A step with its sentence. */
export type PushTraceStep = Static<typeof PushTraceStep>

/** Delivery of the push to a device (rule G9). */
export const PushTraceDelivery = resource(
  'PushTraceDelivery',
  'The course of a push on a device.',
  {
    state: intEnum(meaningsOf(pushDeliveryState), { description: 'how far it is' }),
    channel: text('the channel it was last tried on; "": none was chosen'),
    attempts: int32({ description: 'tries so far, and whether it was held back before one' }),
    next_at: instant('when it is tried again; 0: it is not'),
    received_at: instant('when the device confirmed it first; 0: it has not'),
    is_silent: boolean({ description: 'true: without sound and vibration' }),
    hides_details: boolean({ description: 'true: without its text' }),
    steps: array(PushTraceStep, { description: 'in their order' }),
  },
)
/** The delivery of a push to a device. */
export type PushTraceDelivery = Static<typeof PushTraceDelivery>

/** A push binding of a device; the token itself is never shown. */
export const PushTraceBinding = resource(
  'PushTraceBinding',
  'A device token that is bound now; the token itself is not shown.',
  {
    notifier_name: text('name of the certificate that the device has given'),
    channel: text('channel of that certificate; "": there is no certificate of this name'),
    bound_at: instant('when the device bound it'),
    paused_until: instant('the gateway wants no push for the device before; 0: it takes them'),
  },
)
/** A binding of a device. */
export type PushTraceBinding = Static<typeof PushTraceBinding>

/** One device of the user. */
export const PushTraceDevice = resource('PushTraceDevice', 'A push, as one device met it.', {
  device_sn: int32({ description: 'serial number of the device' }),
  is_present: boolean({ description: 'false: the device was removed since' }),
  platform: intEnum(meaningsOf(platform)),
  bindings: array(PushTraceBinding, { description: 'what the device has bound now' }),
  delivery: optional(PushTraceDelivery),
  text: text('what became of the push on this device, as a sentence'),
})
/** A device and its delivery; without one, `text` gives the reason as far as it is known. */
export type PushTraceDevice = Static<typeof PushTraceDevice>

/** Explains why a push arrived or not, for one user (rule G9). */
export const PushTrace = resource('PushTrace', 'The course of a push for one user.', {
  task: PushTaskProgress,
  user_id: int64({ description: 'the user' }),
  in_audience: boolean({ description: 'true: the audience contains the user at present' }),
  text: text('what became of the push for this user, in sentences'),
  devices: array(PushTraceDevice, { description: 'by serial number, at most 100' }),
})
/** The explanation of a push for one user. */
export type PushTrace = Static<typeof PushTrace>
