import { useConversations } from '@hermod/client/react'
import { useState } from 'react'
import { NewGroup } from '../people/new-group.js'
import type { ConversationRef } from '@hermod/client'
import { moveFocus } from '../ui/move-focus.js'
import { ConversationItem } from './conversation-item.js'

interface ConversationListProps {
  readonly opened: ConversationRef | undefined
  onOpen(conversation: ConversationRef): void
}

/** All conversations, newest first. Arrow keys move between them, Enter opens one. */
export function ConversationList({ opened, onOpen }: ConversationListProps) {
  const { conversations, isComplete } = useConversations()
  const [focused, setFocused] = useState(0)
  const tabStop = Math.min(focused, conversations.length - 1)
  return (
    <div className="list-area">
      <ul
        className="list"
        aria-label="Conversations"
        onKeyDown={(event) => moveFocus(event, '[data-item]')}
      >
        {conversations.map((summary, index) => (
          <ConversationItem
            key={`${summary.kind}.${summary.id}`}
            summary={summary}
            isOpen={summary.id === opened?.id && summary.kind === opened.kind}
            isTabStop={index === tabStop}
            onFocus={() => setFocused(index)}
            onOpen={() => onOpen(summary)}
          />
        ))}
      </ul>
      {conversations.length === 0 && (
        <p className="list-empty">{isComplete ? 'No conversation yet.' : 'Loading …'}</p>
      )}
      <NewGroup onCreated={(id) => onOpen({ id, kind: 'group' })} />
    </div>
  )
}
