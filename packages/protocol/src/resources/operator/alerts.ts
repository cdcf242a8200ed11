import { alertKinds } from '../../enums.js'
import { instant, resource } from '../../resource.js'
import { array, boolean, int32, type Static, stringEnum, text } from '../../schema.js'

/** One an hour is raised while the condition holds. */
export const OperatorAlert = resource('OperatorAlert', 'A condition that the service watches.', {
  kind: stringEnum(alertKinds, { description: 'which condition' }),
  holds: boolean({ description: 'true: it holds now' }),
  text: text('what is wrong now, or what the last alert said; "": there was none'),
  raised_at: instant('when the last alert was raised; 0: never'),
  delivered_at: instant('when the receiver took it; 0: it has not'),
  attempts: int32({ description: 'requests with the last alert' }),
  error: text('why the last request failed'),
})
/** A condition, and its last alert. */
export type OperatorAlert = Static<typeof OperatorAlert>

/** All kinds of alerts. */
export const AlertList = resource('AlertList', 'The conditions that the service watches.', {
  receiver: text('address that gets the alerts; "": none is set'),
  alerts: array(OperatorAlert, { description: 'each kind once' }),
})

/** The answer to a test alert. */
export const AlertTest = resource('AlertTest', 'The outcome of a request to the receiver.', {
  delivered: boolean({ description: 'true: it answered with a status from 200 to 299' }),
  status: int32({ description: 'HTTP status of its answer; 0: there was none' }),
  error: text('why there was no answer'),
})
