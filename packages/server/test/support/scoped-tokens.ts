import type { Scope } from '@hermod/protocol'
import type { Envelope } from '@hermod/testkit'
import { answerCode } from './answer-codes.js'
import type { TestServer } from './watched-server.js'

export interface ScopedToken {
  readonly token: string
  readonly token_id: number
}

type Operated = Pick<TestServer, 'api' | 'appId' | 'operatorToken'>

function operate({ api, appId, operatorToken }: Operated, what: string, params: object) {
  const body = { app_id: appId, ...params }
  return api.as(operatorToken).succeed('POST', `/operator/v1/token/${what}`, { body })
}

/** An Admin token with these scopes. @param scopes absent: no list */
export async function scopedToken(
  server: Operated,
  scopes?: readonly Scope[],
): Promise<ScopedToken> {
  return (await operate(server, 'create', { name: 'scoped', scopes })).data
}

/** Narrows or widens a token. */
export async function setScopes(
  server: Operated,
  { token_id }: ScopedToken,
  scopes: readonly Scope[],
): Promise<void> {
  await operate(server, 'update', { token_id, scopes })
}

export async function revokeToken(server: Operated, { token_id }: ScopedToken): Promise<void> {
  await operate(server, 'revoke', { token_id })
}

/** @returns the scope that an answer says is missing; null: another answer, such as a success */
export function namedScope({ code, message }: Pick<Envelope, 'code' | 'message'>): string | null {
  if (code !== answerCode.no_permission) return null
  return /^no permission: the Admin token lacks the scope (\S+)$/.exec(message ?? '')?.[1] ?? null
}
