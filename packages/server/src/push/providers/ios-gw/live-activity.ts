/** "Starting and updating Live Activities with ActivityKit push notifications". */
import { definedOnly } from '../../../lib/defined-only.js'
import type { LiveActivityChange, PushNotification } from '../../notification.js'
import { longBody } from '../content/options.js'
import { hasTexts } from './alert.js'

/** The change of a certificate check, which no device receives. */
const checkChange: LiveActivityChange = { event: 'update', contentState: {} }

/**
 * The payload of a change of a live activity. The app does not receive it, so it carries no data for
 * the app.
 */
export function liveActivityPayload(notification: PushNotification, now: number) {
  const { ios } = notification
  const change = ios.liveActivity ?? checkChange
  const { event, timestamp = Math.floor(now / 1000) } = change
  return {
    aps: definedOnly({
      timestamp,
      event,
      'content-state': change.contentState,
      ...(event === 'start' && {
        'attributes-type': change.attributesType,
        attributes: change.attributes,
        // The device gives the app a token by which the new activity is updated.
        'input-push-token': 1,
      }),
      'stale-date': change.staleDate,
      'dismissal-date': change.dismissalDate,
      'relevance-score': ios.relevanceScore,
      alert: hasTexts(notification) ? liveActivityAlert(notification) : undefined,
    }),
  }
}

/** The alert has a form of its own: keys within title and body, and the sound. */
function liveActivityAlert(notification: PushNotification) {
  const { title, isSilent, ios } = notification
  return {
    title: localized(title, ios.titleLocKey, ios.titleLocArgs),
    body: localized(longBody(notification), ios.locKey, ios.locArgs),
    ...(isSilent ? {} : { sound: ios.sound || 'default' }),
  }
}

function localized(text: string, key = '', values: readonly string[] = []) {
  if (key === '') return text
  return { 'loc-key': key, ...(values.length === 0 ? {} : { 'loc-args': values }) }
}
