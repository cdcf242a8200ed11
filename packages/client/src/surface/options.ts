import type { ClientOptions } from '../api.js'
import { platforms } from '../model/words.js'
import { checkFunction, checkId, checkOneOf, checkText, checkUrl, refuse } from './arguments.js'

/** The most characters of a device_guid. */
const maxGuid = 128

/**
 * Checks the settings of a client.
 * @throws ClientError invalid_argument, which names the setting
 */
export function checkOptions(options: ClientOptions): void {
  if (typeof options !== 'object' || options === null) refuse('options', 'an object')
  const { url, appId, token, userId, storage, deviceGuid, platform, onError } = options
  checkUrl('options.url', url)
  checkText('options.appId', appId)
  checkFunction('options.token', token)
  if (userId !== undefined) checkId('options.userId', userId)
  checkOneOf('options.storage', storage, [undefined, 'durable', 'memory'])
  if (deviceGuid !== undefined && deviceGuid !== null) {
    checkText('options.deviceGuid', deviceGuid)
    if (deviceGuid.length > maxGuid)
      refuse('options.deviceGuid', `a text of at most ${maxGuid} characters`)
  }
  checkOneOf('options.platform', platform, [undefined, ...platforms])
  if (onError !== undefined) checkFunction('options.onError', onError)
}
