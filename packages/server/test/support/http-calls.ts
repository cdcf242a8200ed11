/** Requests that tests write by hand. */
import { maxBodyBytes as maxBytesOf, registerUser } from '@hermod/protocol'
import type { Answer, CallOptions } from '@hermod/testkit'
import type { InProcessServer } from './in-process-server.js'

/** The bound of the body of a registration, in bytes. */
export const maxBodyBytes = maxBytesOf(registerUser)

let names = 0
const newName = () => `http_${++names}`

export function httpCalls(server: InProcessServer) {
  const call = (method: string, path: string, options?: CallOptions): Promise<Answer> =>
    server.http.call(method, path, options)
  return {
    call,
    newName,
    /** The bound of the body of a registration, in bytes. */
    credentials: (more: object = {}) =>
      JSON.stringify({ username: newName(), password: 'correct horse', ...more }),
    register: (rawBody: string | Uint8Array, headers: CallOptions['headers'] = {}) =>
      call('POST', '/user/register/v2', { rawBody, headers }),
    /** The head of a raw request to an operation. */
    head: (line: string, ...headers: readonly string[]) => {
      const { host } = new URL(server.url)
      return [line, `host: ${host}`, `app_id: ${server.appId}`, ...headers, '', ''].join('\r\n')
    },
  }
}
