/**
 * Behaviour of a simulated gateway towards a device, selected by the prefix of the device's token.
 */

/** All scripts; `accept` applies to all other tokens. */
export const scriptNames = [
  'accept',
  'dead',
  'wrong',
  'gone',
  'throttle',
  'error',
  'auth',
  'denied',
  'config',
  'quota',
  'lists',
  'payload',
  'muted',
  'slow',
  'cut',
  'goaway',
  'template',
] as const

/** One of {@link scriptNames}. */
export type ScriptName = (typeof scriptNames)[number]

export interface Script {
  /** Token prefix; ios_gw accepts hexadecimal tokens only and has a separate prefix. */
  readonly prefix: string
  /** "": ios_gw has no such answer. */
  readonly iosPrefix: string
  /** Applies to the first request only; the same token is accepted the next time. */
  readonly isOnce: boolean
  /** Decides the whole request, regardless of its other tokens. */
  readonly isWhole: boolean
  readonly meaning: string
}

/** The table of scripts, as printed by the simulator. */
export const scripts: Readonly<Record<ScriptName, Script>> = {
  accept: row('', '', 'taken'),
  dead: row('dead-', 'dead', 'the token has ended'),
  wrong: row('wrong-', 'bad0', 'the token is of another app, as with a wrong package or project'),
  gone: row('gone-', '', 'taken; the receipt says that the token has ended'),
  throttle: row(
    'throttle-',
    '429a',
    'too fast, once; Retry-After: 1 where it has a header',
    'once',
  ),
  error: row('error-', '500a', 'the gateway fails, once', 'once'),
  auth: row('auth-', '403a', 'the access token has ended, once', 'once'),
  denied: row('denied-', '403d', 'the credentials are refused', 'whole'),
  config: row('config-', '400c', 'the set-up of the app is refused', 'whole'),
  quota: row('quota-', '', 'the quota of the day is used up', 'whole'),
  lists: row('lists-', '', 'several at once: the quota of lists is used up (vendor_v)', 'whole'),
  payload: row('payload-', '413a', 'the message is refused', 'whole'),
  muted: row('muted-', '', 'the device cannot be pushed to now'),
  slow: row('slow-', '510a', 'no answer', 'whole'),
  cut: row('cut-', 'c07a', 'the connection is cut without an answer', 'whole'),
  template: row(
    'template-',
    '',
    'private messages without a template are refused (vendor_x, vendor_o)',
    'whole',
  ),
  goaway: row('', '60aa', 'the connection takes no more, once; not processed', 'once'),
}

function row(prefix: string, iosPrefix: string, meaning: string, extent = 'device'): Script {
  return { prefix, iosPrefix, meaning, isOnce: extent === 'once', isWhole: extent !== 'device' }
}

/** Returns the script of a token. */
export function scriptOf(token: string, isIos: boolean): ScriptName {
  const found = scriptNames.find((name) => {
    const { prefix, iosPrefix } = scripts[name]
    const beginning = isIos ? iosPrefix : prefix
    return beginning !== '' && token.startsWith(beginning)
  })
  return found ?? 'accept'
}
