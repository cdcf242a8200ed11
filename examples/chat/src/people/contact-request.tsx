import type { ContactRequest as Request } from '@hermod/client'
import { useClient, useUser } from '@hermod/client/react'
import { Avatar } from '../ui/avatar.js'
import { useAttempt } from '../ui/notice.js'

/** A user who asks to become a contact, with both answers. */
export function ContactRequest({ request }: { readonly request: Request }) {
  const client = useClient()
  const attempt = useAttempt()
  const { userId, reason } = request
  const user = useUser(userId)
  const name = user?.name ?? '…'
  return (
    <li className="request">
      <Avatar name={name} url={user?.avatar ?? ''} />
      <div className="item-text">
        <span className="item-title">{name}</span>
        <span className="preview">{reason || 'would like to write to you'}</span>
        <div className="request-answers">
          <button
            type="button"
            className="button primary"
            onClick={() => attempt(client.contacts.accept(userId))}
          >
            Accept
          </button>
          <button
            type="button"
            className="button"
            onClick={() => attempt(client.contacts.decline(userId))}
          >
            Decline
          </button>
        </div>
      </div>
    </li>
  )
}
