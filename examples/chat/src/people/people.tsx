import { useContactRequests, useContacts } from '@hermod/client/react'
import type { ConversationRef } from '@hermod/client'
import { AddContact } from './add-contact.js'
import { ContactItem } from './contact-item.js'
import { ContactRequest } from './contact-request.js'
import { moveFocus } from '../ui/move-focus.js'

/** Contact requests to answer, contacts, and the field that asks another user. */
export function People({ onOpen }: { onOpen(conversation: ConversationRef): void }) {
  const requests = useContactRequests() ?? []
  const list = useContacts()
  return (
    <div className="list-area">
      {requests.length > 0 && (
        <ul className="list requests" aria-label="Contact requests">
          {requests.map((request) => (
            <ContactRequest key={request.userId} request={request} />
          ))}
        </ul>
      )}
      <ul
        className="list"
        aria-label="Contacts"
        onKeyDown={(event) => moveFocus(event, '[data-item]')}
      >
        {list?.map((user, index) => (
          <ContactItem
            key={user.id}
            user={user}
            isTabStop={index === 0}
            onOpen={() => onOpen({ id: user.id, kind: 'direct' })}
          />
        ))}
      </ul>
      {list === undefined && <p className="list-empty">Loading …</p>}
      <AddContact />
    </div>
  )
}
