import type { AppService } from '../../domain/apps/app-service.js'
import { ContactBook } from '../../domain/contacts/contact-book.js'
import { ContactRequestService } from '../../domain/contacts/contact-request-service.js'
import { ContactService } from '../../domain/contacts/contact-service.js'
import { MessageRules } from '../../domain/contacts/message-rules.js'
import type { AccountService } from '../../domain/users/account-service.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

export interface ContactServices {
  /** Registration makes contacts too. */
  readonly contactBook: ContactBook
  readonly contacts: ContactService
  readonly contactRequests: ContactRequestService
  readonly messageRules: MessageRules
}

export function createContacts(
  { database, caches, stores, outbox, clock, budget }: Infrastructure,
  { accounts, apps }: { readonly accounts: AccountService; readonly apps: AppService },
): Domain<ContactServices> {
  const contactBook = new ContactBook({
    store: stores.contacts,
    users: stores.users,
    contactRequests: stores.contactRequests,
    outbox,
    clock,
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
  })
  const contactRequests = new ContactRequestService({
    database,
    store: stores.contactRequests,
    contactStore: stores.contacts,
    contacts,
    book: contactBook,
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
  return { services: { contactBook, contacts, contactRequests, messageRules } }
}
