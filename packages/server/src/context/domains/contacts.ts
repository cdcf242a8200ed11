import type { AppService } from '../../domain/apps/app-service.js'
import { ContactBook } from '../../domain/contacts/contact-book.js'
import { ContactRequestService } from '../../domain/contacts/contact-request-service.js'
import { ContactService } from '../../domain/contacts/contact-service.js'
import { MessageRules } from '../../domain/contacts/message-rules.js'
import type { AccountService } from '../../domain/users/account-service.js'
import type { Foundation } from '../foundation.js'

export interface Contacts {
  /** Also for what else makes contacts, such as registration. */
  readonly contactBook: ContactBook
  readonly contacts: ContactService
  readonly contactRequests: ContactRequestService
  readonly messageRules: MessageRules
}

export function createContacts(
  { database, caches, stores, outbox, clock, turns }: Foundation,
  { accounts, apps }: { readonly accounts: AccountService; readonly apps: AppService },
): Contacts {
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
    turns,
  })
  return {
    contactBook,
    contacts,
    contactRequests: new ContactRequestService({
      database,
      store: stores.contactRequests,
      contactStore: stores.contacts,
      contacts,
      book: contactBook,
      outbox,
      clock,
    }),
    messageRules: new MessageRules({
      database,
      store: stores.contacts,
      relationCache: caches.relations,
      accounts,
      apps,
    }),
  }
}
