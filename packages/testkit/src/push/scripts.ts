/** What a simulated gateway does to a device, by the beginning of the device's token. */

/** All that can be asked for; `accept` is what other tokens get. */
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
] as const

/** One of {@link scriptNames}. */
export type ScriptName = (typeof scriptNames)[number]

export interface Script {
  /** Tokens of this beginning; ios_gw takes hexadecimal tokens only and has its own. */
  readonly prefix: string
  /** "": ios_gw has no such answer. */
  readonly iosPrefix: string
  /** The first request only; the same token is taken the next time. */
  readonly isOnce: boolean
  /** Decides over the whole request, whatever other tokens it has. */
  readonly isWhole: boolean
  readonly meaning: string
}

/** The table of scripts, as the simulator prints it. */
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
  goaway: row('', '60aa', 'the connection takes no more, once; not processed', 'once'),
}

function row(prefix: string, iosPrefix: string, meaning: string, extent = 'device'): Script {
  return { prefix, iosPrefix, meaning, isOnce: extent === 'once', isWhole: extent !== 'device' }
}

/** The script of a token. */
export function scriptOf(token: string, isIos: boolean): ScriptName {
  const found = scriptNames.find((name) => {
    const { prefix, iosPrefix } = scripts[name]
    const beginning = isIos ? iosPrefix : prefix
    return beginning !== '' && token.startsWith(beginning)
  })
  return found ?? 'accept'
}
