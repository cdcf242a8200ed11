import type { User } from '@hermod/client'
import { Avatar } from '../ui/avatar.js'

interface ContactItemProps {
  readonly user: User
  readonly isTabStop: boolean
  onOpen(): void
}

/** A contact; a click opens the conversation. */
export function ContactItem({ user, isTabStop, onOpen }: ContactItemProps) {
  return (
    <li>
      <button
        type="button"
        className="item"
        data-item
        tabIndex={isTabStop ? 0 : -1}
        onClick={onOpen}
      >
        <Avatar name={user.name} url={user.avatar} isOnline={user.isOnline} />
        <span className="item-text">
          <span className="item-title">{user.name}</span>
          <span className="preview">
            {user.isBlocked ? 'blocked' : user.isOnline ? 'online' : 'offline'}
          </span>
        </span>
      </button>
    </li>
  )
}
