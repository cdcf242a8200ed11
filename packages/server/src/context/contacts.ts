import type { Bus } from '../bus/bus.js'
import { factChannel } from '../bus/fact-channel.js'
import type { Database } from '../db/database.js'
import type { AccountService } from '../domain/accounts/account-service.js'
import type { UserStore } from '../domain/accounts/user-store.js'
import type { ApplicationService } from '../domain/applications/application-service.js'
import { ContactApplicationService } from '../domain/contacts/contact-application-service.js'
import { ContactApplicationStore } from '../domain/contacts/contact-application-store.js'
import { ContactBook } from '../domain/contacts/contact-book.js'
import { ContactService } from '../domain/contacts/contact-service.js'
import { ContactStore } from '../domain/contacts/contact-store.js'
import { MessageRules } from '../domain/contacts/message-rules.js'
import type { EventService } from '../domain/events/event-service.js'
import type { Clock } from '../lib/clock.js'

interface Shared {
  readonly database: Database
  readonly events: EventService
  readonly clock: Clock
}

export interface ContactServices {
  readonly contacts: ContactService
  readonly contactApplications: ContactApplicationService
  readonly messageRules: MessageRules
}

export function createContactBook({
  database,
  ...shared
}: Shared & { readonly users: UserStore }): ContactBook {
  return new ContactBook({
    ...shared,
    store: new ContactStore(database),
    contactApplications: new ContactApplicationStore(),
  })
}

/** @param shared.book shared with what else makes contacts, such as registration */
export function createContactServices(
  shared: Shared & {
    readonly book: ContactBook
    readonly accounts: AccountService
    readonly applications: ApplicationService
    readonly bus: Bus
  },
): ContactServices {
  const { database, accounts, applications } = shared
  const store = new ContactStore(database)
  const messageRules = new MessageRules({
    database,
    store,
    accounts,
    applications,
    channel: factChannel(shared.bus, 'relations'),
  })
  const contacts = new ContactService({ ...shared, store, rules: messageRules })
  const contactApplications = new ContactApplicationService({
    ...shared,
    contacts,
    store: new ContactApplicationStore(),
    contactStore: store,
  })
  return { contacts, contactApplications, messageRules }
}
