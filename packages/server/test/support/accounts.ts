/** Registrations and logins as a client without a token makes them. */
import { type Answer, type Json, sharedPassword as password, type TokenData } from '@hermod/testkit'
import { answerCode } from './answer-codes.js'
import type { InProcessServer } from './in-process-server.js'

export interface OwnApp {
  readonly appId: string
  readonly token: string
}

let names = 0

/** A name that no other test of this process uses. */
export const newName = (prefix = 'user') => `${prefix}_${++names}`

export function accountCalls(server: InProcessServer) {
  return {
    /** An application of its own, for tests that count its users. */
    newApp: async (): Promise<OwnApp> => {
      const operator = server.api.as(server.operatorToken)
      const { data } = await operator.succeed('POST', '/operator/v1/app/create')
      return { appId: data.app_id, token: data.admin_token }
    },
    usernamesOf: async (app: OwnApp): Promise<string[]> => {
      const query = { page_size: 200 }
      const { data } = await server.api.succeed('GET', '/user/list', { ...app, query })
      return data.map((user: Json) => user.username)
    },
    register: (body: object, path = '/user/register/v2'): Promise<Answer> =>
      server.api.call('POST', path, { body: { password, ...body } }),
    logIn: ({ id }: { readonly id: number }, more: object = {}): Promise<Answer<TokenData>> =>
      server.api.call('POST', '/token/id', { body: { user_id: id, password, ...more } }),
    /** The code of the answer at the profile. */
    codeOfToken: async (token: string): Promise<number> =>
      (await server.api.as(token).call('GET', '/user/profile')).code,
    exists: async (username: string): Promise<boolean> => {
      const body = { name: username, password: 'whatever' }
      return (
        (await server.api.call('POST', '/token/user', { body })).code !== answerCode.user_not_found
      )
    },
  }
}
