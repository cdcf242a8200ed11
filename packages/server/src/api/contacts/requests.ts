import {
  acceptContact,
  applyToContact,
  applyToContacts,
  declineContact,
  type Int64,
  listContactRequests,
  type ParamsOf,
} from '@hermod/protocol'
import type {
  ContactRequestService,
  NewContactRequest,
} from '../../domain/contacts/contact-request-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import { itemResults, rawUserId } from '../item-list.js'

export function contactRequestHandlers({
  contactRequests,
}: {
  readonly contactRequests: ContactRequestService
}): Handler[] {
  return [
    handle(applyToContact, (params, { principal }) =>
      whenDone(contactRequests.apply(principal, toNewContactRequest(params))),
    ),
    handle(applyToContacts, async ({ list }, { principal }) => {
      const results = await itemResults(list, {
        toEntry: toNewContactRequest,
        work: (requests) => contactRequests.applyMany(principal, requests),
        toResult: (outcome, item) => ({
          user_id: 'value' in item ? item.value.user_id : rawUserId(item),
          outcome,
        }),
      })
      return data({
        success: results.flatMap(({ user_id, outcome }) => (outcome === null ? [user_id] : [])),
        fails: results.flatMap(({ user_id, outcome }) =>
          outcome === null ? [] : [{ user_id, reason: outcome.message }],
        ),
      })
    }),
    handle(listContactRequests, async (page, { principal }) => {
      const { received, nextCursor, version } = await contactRequests.list(principal, page)
      return {
        data: received.map(({ applicantId, expiresAt, reason, status }) => ({
          expired_time: expiresAt,
          reason,
          status,
          user_id: applicantId,
        })),
        extras: { version, ...(nextCursor === null ? {} : { cursor: nextCursor }) },
      }
    }),
    handle(acceptContact, ({ user_id: applicantId }, { principal }) =>
      whenDone(contactRequests.accept(principal, applicantId)),
    ),
    handle(declineContact, ({ user_id: applicantId, reason = '' }, { principal }) =>
      whenDone(contactRequests.decline(principal, applicantId, reason)),
    ),
  ]
}

type ContactRequestParams = Partial<ParamsOf<typeof applyToContact>> & { readonly user_id: Int64 }

function toNewContactRequest({
  user_id: userId,
  alias,
  reason,
  auth_answer: authAnswer,
}: ContactRequestParams): NewContactRequest {
  return { userId, alias, reason, authAnswer }
}
