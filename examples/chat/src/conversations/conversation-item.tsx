import type { ConversationSummary } from '@hermod/client'
import { Avatar } from '../ui/avatar.js'
import { Badge } from '../ui/badge.js'
import { briefTime } from '../ui/format.js'
import { Icon } from '../ui/icon.js'
import { Preview } from './preview.js'

interface ConversationItemProps {
  readonly summary: ConversationSummary
  readonly isOpen: boolean
  /** One item of the list is reached with the tab key. */
  readonly isTabStop: boolean
  onFocus(): void
  onOpen(): void
}

/** A conversation in the list: name, last message, time and number of unread messages. */
export function ConversationItem({ summary, isOpen, isTabStop, ...on }: ConversationItemProps) {
  const { title, avatar, isOnline, isPinned, lastActivity, unread } = summary
  return (
    <li>
      <button
        type="button"
        className="item"
        data-item
        aria-current={isOpen}
        tabIndex={isTabStop ? 0 : -1}
        onFocus={on.onFocus}
        onClick={on.onOpen}
      >
        <Avatar name={title} url={avatar} isOnline={isOnline} />
        <span className="item-text">
          <span className="item-line">
            <span className="item-title">{title || '…'}</span>
            {isPinned && <Icon name="pin" label="pinned" />}
            {lastActivity > 0 && <time>{briefTime(lastActivity)}</time>}
          </span>
          <span className="item-line">
            <Preview summary={summary} />
            <Badge count={unread} of="unread messages" />
          </span>
        </span>
      </button>
    </li>
  )
}
