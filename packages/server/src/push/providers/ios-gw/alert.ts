/** Texts and sounds: "Generating a remote notification". */
import type { IosOptions, PushNotification } from '../../notification.js'
import { longBody } from '../content/options.js'

/** The texts of an alert. A key of a text in the app replaces the text. */
export function iosAlert(notification: PushNotification) {
  const { title, ios } = notification
  return {
    ...(ios.titleLocKey
      ? { 'title-loc-key': ios.titleLocKey, ...argumentField('title-loc-args', ios.titleLocArgs) }
      : title !== '' && { title }),
    ...(ios.subtitle ? { subtitle: ios.subtitle } : {}),
    ...(ios.locKey
      ? { 'loc-key': ios.locKey, ...argumentField('loc-args', ios.locArgs) }
      : { body: longBody(notification) }),
  }
}

function argumentField(name: string, values: readonly string[] = []) {
  return values.length === 0 ? {} : { [name]: values }
}

/** Tests whether an alert has a title or a body. */
export function hasTexts(notification: PushNotification): boolean {
  const { title, ios } = notification
  const texts = [title, longBody(notification), ios.titleLocKey, ios.locKey]
  return texts.some((text) => text !== undefined && text !== '')
}

/** The sound of an alert. A critical one sounds at full volume, also when the device is muted. */
export function iosSound({ sound, interruptionLevel }: IosOptions) {
  const name = sound || 'default'
  return interruptionLevel === 'critical' ? { critical: 1, name, volume: 1 } : name
}
