/** The history of a push in sentences. */
import { pushDeliveryState, pushTaskState } from '@hermod/protocol'
import type { ReceiptKind } from '../../../push/receipts/receipt.js'
import type { PushOutcomeKind } from '../../../push/outcomes.js'
import type { Suppression } from '../audience/recipient.js'
import type { Delivery } from '../deliveries/delivery-model.js'
import { type DeliveryStep, readSteps } from '../deliveries/delivery-step.js'
import { isUnresolved, type StoredPushTask } from '../tasks/task-model.js'
import type { TracedBinding } from './trace-model.js'

const suppressions: Readonly<Record<Suppression, string>> = {
  bot: 'the user is a program',
  no_push: 'the user has turned pushes off',
  quiet_hours: "it was in the user's quiet hours",
  details_hidden: 'the user wants no details on the screen, and a live activity shows nothing else',
  user_disabled: 'the user is disabled',
  contact_muted: 'the user has muted the sender',
  group_muted: 'the user receives nothing of the group (msg_mute_mode)',
  group_push_mode: 'the user wants no pushes of such messages of the group (msg_push_mode)',
  collapsed: 'a later message of the conversation replaced it',
  message_recalled: 'the message had been recalled',
  message_read: 'the user had read the message',
  connected: 'the device was connected and received the message over its connection',
  no_certificate: 'the application has no certificate with the name that the device gave',
  not_connected: 'the device was not connected and has no push token',
  no_channel_of_the_sequence: 'the push excludes the channels that the device can be reached by',
  no_push_type:
    'the device has no token of a certificate with the push type of the push (push_type)',
  device_paused: 'its gateway has paused pushes to the device',
  malformed_token: 'the token of the device does not have the form of the channel',
}

const outcomes: Readonly<Record<PushOutcomeKind | 'handed_over' | 'disconnected', string>> = {
  accepted: 'The gateway accepted it',
  invalid_token: 'The token of the device is no longer valid',
  throttled: 'The gateway asks for a lower rate',
  held_back: 'Sending to this gateway is suspended',
  server_error: 'The gateway failed',
  network: 'The gateway could not be reached',
  quota: 'The daily quota is used up',
  auth_expired: 'The gateway asks for new credentials',
  payload: 'The gateway refuses such a message',
  config: 'The certificate or the configuration at the gateway is wrong',
  suppressed: 'The device cannot be reached at present',
  handed_over: 'It was sent to the connected device',
  disconnected: 'The device was no longer connected',
}

const receipts: Readonly<Record<ReceiptKind, string>> = {
  delivered: 'The device received it',
  clicked: 'It was opened on the device',
  invalid_token: 'The gateway reports that the token of the device is no longer valid',
  muted: 'The device shows no notifications of the app',
  suppressed: 'The gateway could not reach the device',
  throttled: 'The device has received the daily maximum of its vendor',
  ignored: 'The gateway reported something without an effect',
}

/** A step as a sentence. */
export function describeStep(step: DeliveryStep): string {
  const { result, certificate, channel } = step
  switch (step.step) {
    case 'matched':
      return 'The audience contains the device.'
    case 'suppressed':
      return `It is not sent: ${suppressions[result as Suppression] ?? result}.`
    case 'channel_chosen':
      return `It goes through ${channel}${certificate === undefined ? '' : ` with the certificate ${certificate}`}.`
    case 'waiting':
      return `The device is connected, so the push waits until ${timeWords(step.nextAt ?? step.at)} for an acknowledgement.`
    case 'tried':
      return `${outcomes[result as keyof typeof outcomes] ?? result}${details(step)}${again(step)}${describeChanges(step)}.`
    case 'receipt':
      return `${receipts[result as ReceiptKind] ?? result}, according to ${certificate === undefined ? 'the app' : `the gateway${details(step)}`}.`
    case 'token_cleared':
      return `The token was taken from the device${step.reason === undefined ? '' : `: ${step.reason}`}.`
    case 'expired':
      return 'It expired.'
    case 'cancelled':
      return 'The push was cancelled.'
    case 'left_out':
      return step.count === 1
        ? 'One more step was left out.'
        : `${step.count} more steps were left out here.`
  }
}

function details({ code = '', reason = '' }: DeliveryStep): string {
  const words = [code, reason].filter((word) => word !== '').join(': ')
  return words === '' ? '' : ` (${words})`
}

function describeChanges({ changes }: DeliveryStep): string {
  return changes === undefined ? '' : `; changed for the channel: ${changes}`
}

function again({ nextAt }: DeliveryStep): string {
  return nextAt === undefined ? '' : `; it is tried again at ${timeWords(nextAt)}`
}

/**
 * The result of a delivery, in sentences.
 * @param extLocation where the message has its `ext`, see ext-location.ts; null: nowhere
 */
export function describeDelivery(delivery: Delivery, extLocation: string | null): string {
  const isSent = delivery.state === pushDeliveryState.accepted
  const place = isSent && extLocation !== null ? ` Its ext is in ${extLocation}.` : ''
  return resultWords(delivery) + place
}

function resultWords(delivery: Delivery): string {
  const { state, channel, receivedAt, nextAt, attempts } = delivery
  if (receivedAt !== null) return `The device has confirmed it at ${timeWords(receivedAt)}.`
  const steps = readSteps(delivery.steps)
  const lastOf = (kind: DeliveryStep['step']) => steps.findLast(({ step }) => step === kind)
  const last = lastOf('tried')
  switch (state) {
    case pushDeliveryState.pending:
      return attempts === 0
        ? waitingWords(lastOf('waiting'))
        : `It has not been accepted yet and is tried again at ${timeWords(nextAt)}.`
    case pushDeliveryState.accepted:
      return `${channel === 'core' ? 'It was sent to the device' : `The gateway of ${channel} accepted it`}; the device has not confirmed it${reportHint(channel)}.`
    case pushDeliveryState.suppressed: {
      const { result } = lastOf('suppressed') ?? {}
      return `It was not sent: ${suppressions[result as Suppression] ?? 'the reason is unknown'}.`
    }
    case pushDeliveryState.expired:
      return 'It expired before it could be sent.'
    case pushDeliveryState.cancelled:
      return 'The push was cancelled before it was sent to the device.'
    default:
      return `It could not be delivered. ${last ? describeStep(last) : ''}`.trimEnd()
  }
}

function waitingWords(waiting: DeliveryStep | undefined): string {
  return waiting === undefined
    ? 'It waits to be sent.'
    : `It waits until ${timeWords(waiting.nextAt ?? waiting.at)} for an acknowledgement of the connected device.`
}

function reportHint(channel: Delivery['channel']): string {
  const hasReceipts = channel !== 'ios_gw' && channel !== 'cloud_gw' && channel !== 'core'
  return hasReceipts ? '' : ', which only the app can do here (/push/report)'
}

/** The inputs of {@link describeMissingDelivery}. */
export interface MissingInputs {
  readonly task: StoredPushTask
  /** The deliveries of the user are written. */
  readonly isReached: boolean
  readonly isInAudience: boolean
  /** The audience names other devices of the user. */
  readonly isOtherDevice: boolean
  readonly bindings: readonly TracedBinding[]
  /** The device has a binding that waits for its next login. */
  readonly isSilent: boolean
  readonly hasCertificates: boolean
  /** Deliveries of pushes that began before are no longer kept. Milliseconds since 1970. */
  readonly keptSince: number
  readonly now: number
}

/** Why a device has no delivery, as far as can be told. */
export function describeMissingDelivery(inputs: MissingInputs): string {
  const { task, bindings, now } = inputs
  if (task.beginsAt < inputs.keptSince) return 'The deliveries of this push have been deleted.'
  if (!inputs.isInAudience) return 'The audience does not contain the user at present.'
  if (inputs.isOtherDevice) return 'The audience names other devices of the user.'
  if (!inputs.isReached) return unreachedWords(task, now)
  const { audience } = task.content
  if (audience.kind === 'message' && audience.message.collapsedBy !== null)
    return `It is not sent: ${suppressions.collapsed} (${audience.message.collapsedBy}).`
  if (task.expiresAt <= task.beginsAt) return 'The push expired before it began.'
  if (!inputs.hasCertificates) return 'The application has no certificate of a push gateway.'
  if (bindings.length === 0 && inputs.isSilent)
    return 'The login of the device was ended, so it gets no push until its next login.'
  if (bindings.length === 0)
    return 'The device has bound no push token, and was not connected at the time of the push.'
  if (bindings.every(({ boundAt }) => boundAt >= task.beginsAt))
    return 'The device bound its token after the push had begun.'
  return 'There is no record of the device: it could not be reached at the time of the push.'
}

/** Why a user above the position of a task has no deliveries. */
function unreachedWords({ state, beginsAt, expiresAt }: StoredPushTask, now: number): string {
  if (state === pushTaskState.cancelled) return 'The push was cancelled before it reached the user.'
  if (beginsAt > now) return `The push begins at ${timeWords(beginsAt)}.`
  return expiresAt <= now || !isUnresolved({ state })
    ? 'The push expired before it reached the user.'
    : 'The push has not reached the user yet.'
}

/** The results of a push for a user, in sentences. */
export function describeUser(
  isInAudience: boolean,
  deliveries: readonly (Delivery | null)[],
): string {
  if (deliveries.length === 0)
    return isInAudience
      ? 'The audience contains the user, who has no device.'
      : 'The audience does not contain the user, who has no device.'
  const found = deliveries.filter((delivery) => delivery !== null)
  const count = (is: (delivery: Delivery) => boolean) => found.filter(is).length
  const parts = [
    [count(({ receivedAt }) => receivedAt !== null), 'confirmed'],
    ...[
      [pushDeliveryState.accepted, 'sent'],
      [pushDeliveryState.pending, 'waiting'],
      [pushDeliveryState.refused, 'failed'],
      [pushDeliveryState.suppressed, 'not sent'],
      [pushDeliveryState.expired, 'expired'],
      [pushDeliveryState.cancelled, 'cancelled'],
    ].map(([state, word]) => [
      count((delivery) => delivery.receivedAt === null && delivery.state === state),
      word,
    ]),
    [deliveries.length - found.length, 'without a delivery'],
  ].filter(([number]) => number !== 0)
  const audience = isInAudience
    ? 'The audience contains the user at present.'
    : 'The audience does not contain the user at present.'
  return `${audience} Devices: ${parts.map((part) => part.join(' ')).join(', ')}.`
}

function timeWords(at: number): string {
  return new Date(at).toISOString()
}
