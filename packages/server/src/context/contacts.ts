import type { Bus } from '../bus/bus.js'
import { cacheInvalidation } from '../bus/cache-invalidation.js'
import type { Database } from '../db/database.js'
import type { AppService } from '../domain/apps/app-service.js'
import { ContactBook } from '../domain/contacts/contact-book.js'
import { ContactRequestService } from '../domain/contacts/contact-request-service.js'
import type { ContactRequestStore } from '../domain/contacts/contact-request-store.js'
import { ContactService } from '../domain/contacts/contact-service.js'
import type { ContactStore } from '../domain/contacts/contact-store.js'
import { MessageRules } from '../domain/contacts/message-rules.js'
import type { AccountService } from '../domain/users/account-service.js'
import type { UserStore } from '../domain/users/user-store.js'
import type { Clock } from '../lib/clock.js'
import type { EventService } from '../outbox/event-service.js'

interface Shared {
  readonly stores: {
    readonly contacts: ContactStore
    readonly contactRequests: ContactRequestStore
  }
  readonly database: Database
  readonly events: EventService
  readonly clock: Clock
}

export interface ContactServices {
  readonly contacts: ContactService
  readonly contactRequests: ContactRequestService
  readonly messageRules: MessageRules
}

export function createContactBook({
  stores,
  ...shared
}: Shared & { readonly users: UserStore }): ContactBook {
  return new ContactBook({
    ...shared,
    store: stores.contacts,
    contactRequests: stores.contactRequests,
  })
}

/** @param shared.book shared with what else makes contacts, such as registration */
export function createContactServices(
  shared: Shared & {
    readonly book: ContactBook
    readonly accounts: AccountService
    readonly apps: AppService
    readonly bus: Bus
  },
): ContactServices {
  const { database, accounts, apps, stores } = shared
  const { contacts: store, contactRequests: requests } = stores
  const messageRules = new MessageRules({
    database,
    store,
    accounts,
    apps,
    channel: cacheInvalidation(shared.bus, 'relations'),
  })
  const contacts = new ContactService({ ...shared, store, rules: messageRules })
  const contactRequests = new ContactRequestService({
    ...shared,
    contacts,
    store: requests,
    contactStore: store,
  })
  return { contacts, contactRequests, messageRules }
}
