/** Checks of the push type of ios_gw and of the fields that belong to it. */
import { type Fields, isFields, jsonBytes } from './fields-of-body.js'

/** The gateway allows 4096 bytes; the rest is for an alert. */
const liveActivityBytes = 3584
const textNames = ['title', 'body', 'big_text']
const keyNames = ['title_loc_key', 'loc_key']

/** Violations of a message; each text begins with the name of the field. */
export function pushTypeFaults(message: Fields, setting: Fields): string[] {
  const { ios } = message
  if (!isFields(ios)) return []
  const isOfActivity = ios.push_type === 'liveactivity'
  const isOfOther = !isOfActivity && !isUndecoded(ios, 'push_type')
  return [
    ...argumentFaults(ios),
    ...('live_activity' in ios && isOfOther
      ? ['message.ios.live_activity needs message.ios.push_type liveactivity']
      : []),
    ...(isOfActivity ? liveActivityFaults(message, ios, setting) : []),
  ]
}

function argumentFaults(ios: Fields): string[] {
  return ['title_loc', 'loc'].flatMap((name) => {
    const values = ios[`${name}_args`]
    const isLost = Array.isArray(values) && values.length > 0 && lacksField(ios, `${name}_key`)
    return isLost ? [`message.ios.${name}_args needs message.ios.${name}_key`] : []
  })
}

function liveActivityFaults(message: Fields, ios: Fields, setting: Fields): string[] {
  const faults: string[] = []
  if (message.type === 'cmd')
    faults.push('message.type must not be cmd with message.ios.push_type liveactivity')
  if (setting.distribution_strategy === 'corepush_only')
    faults.push(
      'setting.distribution_strategy must not be corepush_only with message.ios.push_type liveactivity',
    )
  if (lacksField(ios, 'live_activity'))
    faults.push('message.ios.live_activity is required with message.ios.push_type liveactivity')
  const change = ios.live_activity
  if (isFields(change)) faults.push(...changeFaults(message, ios, change))
  return faults
}

function changeFaults(message: Fields, ios: Fields, change: Fields): string[] {
  const { event } = change
  const faults = neededBy(event)
    .filter((name) => lacksField(change, name))
    .map((name) => `message.ios.live_activity.${name} is required with event ${String(event)}`)
  const isSilent =
    textNames.every((name) => lacksField(message, name)) &&
    keyNames.every((name) => lacksField(ios, name))
  if (event === 'start' && isSilent)
    faults.push('message.title or message.body is required with event start')
  if (!lacksField(change, 'dismissal_date') && (event === 'start' || event === 'update'))
    faults.push('message.ios.live_activity.dismissal_date needs event end')
  if (jsonBytes(change) > liveActivityBytes)
    faults.push(`message.ios.live_activity must have at most ${liveActivityBytes} bytes as JSON`)
  return faults
}

function neededBy(event: unknown): string[] {
  if (event === 'start') return ['content_state', 'attributes_type', 'attributes']
  return event === 'update' ? ['content_state'] : []
}

/** Tests whether a field is absent or blank. A field that could not be decoded is a fault of the schema. */
function lacksField(fields: Fields, name: string): boolean {
  if (!(name in fields)) return true
  const value = fields[name]
  return value === 0 || (typeof value === 'string' && value.trim() === '')
}

function isUndecoded(fields: Fields, name: string): boolean {
  return name in fields && fields[name] === undefined
}
