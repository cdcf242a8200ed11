import type { platforms } from '../model/words.js'

/** The platform of a device. */
export type Platform = (typeof platforms)[number]

/** Settings of {@link createClient}. */
export interface ClientOptions {
  /** Address of the service, for example `https://chat.example.org`. */
  readonly url: string
  /** The application. */
  readonly appId: string
  /**
   * Returns an access token. Called before the first connection, and again when the server refuses
   * the token: it must then return another one, or reject. A function that rejects, or does not settle
   * for 30 s, is called again after a pause; one that rejects with a {@link ClientError} without
   * `retry`, such as a wrong password of {@link logIn}, ends the connection with that failure.
   */
  readonly token: (request: TokenRequest) => string | Promise<string>
  /**
   * The user of the token. With it the stored conversations are shown before the network answers;
   * without it they are shown once the session is open. Required with an Admin token, which then acts as
   * this user, without a device.
   */
  readonly userId?: number
  /**
   * The store of messages. `durable`: in IndexedDB, where there is one. Default: durable in
   * browsers, memory in Node.
   */
  readonly storage?: 'durable' | 'memory'
  /**
   * Names the installation, 1 to 128 characters; null: the session has no device, so it is not
   * online, gets no push and displaces no other session. Default: in browsers with Web Locks a text
   * that is made once and kept, else null.
   */
  readonly deviceGuid?: string | null
  /** The platform of the device. Default: `web`; in Node `unknown`. */
  readonly platform?: Platform
  /** Called with errors that no call can return, such as those of listeners. Default: console.error. */
  readonly onError?: (error: unknown) => void
}

/** Why a token is requested. */
export interface TokenRequest {
  /** True: the server has refused the token before, as expired or not valid. */
  readonly isRefused: boolean
  /**
   * The device of the session, for `device_guid` of `/token/issue` and of a login: a token of another
   * device is refused. null: the session has no device.
   */
  readonly deviceGuid: string | null
  readonly signal: AbortSignal
}
