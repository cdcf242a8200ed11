/** Calls of a backend that gives its users tokens. */
import type { Answer, Api, Envelope, TokenData } from '@hermod/testkit'

let subjects = 0

/** A subject that no other test of this process uses. */
export const newSubject = (issuer = 'app') => ({ issuer, subject: `person ${++subjects}` })

export function backendCalls(admin: () => Api) {
  return {
    issue: (body: object): Promise<Answer<TokenData>> =>
      admin().call('POST', '/token/issue', { body }),
    /** Gives a token, which must succeed. */
    issued: async (body: object): Promise<Envelope<TokenData>> =>
      admin().succeed('POST', '/token/issue', { body }),
    revoke: (body: object): Promise<Answer> => admin().call('POST', '/token/revoke', { body }),
    link: (userId: number, body: object): Promise<Answer> =>
      admin().call('POST', '/user/identity/link', { userId, body }),
    unlink: (userId: number, body: object): Promise<Answer> =>
      admin().call('POST', '/user/identity/unlink', { userId, body }),
    identitiesOf: async (userId: number): Promise<{ issuer: string; subject: string }[]> => {
      const { data } = await admin().succeed('GET', '/user/identity/list', { userId })
      return data.map(({ issuer, subject }: { issuer: string; subject: string }) => ({
        issuer,
        subject,
      }))
    },
  }
}
