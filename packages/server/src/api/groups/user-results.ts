import { type ErrorName, errorCatalogue, type Int64, type UserResult } from '@hermod/protocol'
import type { Outcomes } from '../../domain/groups/membership/membership-service.js'

export function toUserResults(outcomes: Outcomes): UserResult[] {
  return [...outcomes].map(([userId, refusal]) => toUserResult(userId, refusal))
}

export function toUserResult(userId: Int64, refusal: ErrorName | null = null): UserResult {
  return refusal === null
    ? { user_id: userId, result: 'success' }
    : { user_id: userId, result: 'fail', reason: errorCatalogue[refusal].text }
}
