import type { ServerConfig } from '../../config/config.js'
import type { AppService } from '../../domain/apps/app-service.js'
import { AnswerGuard } from '../../domain/contacts/answer-guard.js'
import { ContactBook } from '../../domain/contacts/contact-book.js'
import { ContactRequestService } from '../../domain/contacts/contact-request-service.js'
import { ContactService } from '../../domain/contacts/contact-service.js'
import { MessageRules } from '../../domain/contacts/message-rules.js'
import type { AccountService } from '../../domain/users/account-service.js'
import type { NumberLookupLimit } from '../../domain/users/number-lookup-limit.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

export function createContacts(
  { database, caches, stores, outbox, clock, budget }: Infrastructure,
  {
    config,
    accounts,
    apps,
    numbers,
  }: {
    readonly config: Pick<ServerConfig, 'logins'>
    readonly accounts: AccountService
    readonly apps: AppService
    readonly numbers: Pick<NumberLookupLimit, 'take'>
  },
) {
  const contactBook = new ContactBook({
    store: stores.contacts,
    users: stores.users,
    contactRequests: stores.contactRequests,
    outbox,
    clock,
    messages: stores.messages,
  })
  const contacts = new ContactService({
    database,
    store: stores.contacts,
    book: contactBook,
    accounts,
    apps,
    outbox,
    clock,
    budget,
    numbers,
  })
  const contactRequests = new ContactRequestService({
    database,
    store: stores.contactRequests,
    contactStore: stores.contacts,
    contacts,
    book: contactBook,
    answers: new AnswerGuard({ clock, ...config.logins }),
    outbox,
    clock,
  })
  const messageRules = new MessageRules({
    database,
    store: stores.contacts,
    relationCache: caches.relations,
    accounts,
    apps,
  })
  return {
    services: { contactBook, contacts, contactRequests, messageRules },
  } satisfies Domain
}
