import type { ConversationRef, Message } from '@hermod/client'
import { useClient, useMessages, useSummary } from '@hermod/client/react'
import { type KeyboardEvent, useRef, useState } from 'react'
import { Composer } from './composer.js'
import { ConversationHeader } from './conversation-header.js'
import { MessageList } from './message-list.js'
import { TypingLine } from './typing-line.js'

interface ConversationViewProps {
  readonly conversation: ConversationRef
  onClose(): void
}

/** An open conversation: its header, its messages, and the field for a new one. Escape closes it. */
export function ConversationView({ conversation: { id, kind }, onClose }: ConversationViewProps) {
  const conversation = useClient().conversation({ id, kind })
  const summary = useSummary(conversation)
  const list = useMessages(conversation)
  const [edited, setEdited] = useState<Message>()
  const scroller = useRef<HTMLDivElement>(null)

  function onKeyDown(event: KeyboardEvent) {
    const isInDialog = (event.target as HTMLElement).closest('dialog') !== null
    if (event.key !== 'Escape' || event.defaultPrevented || isInDialog) return
    onClose()
  }

  return (
    <article
      className="conversation"
      aria-label={`Conversation with ${summary.title}`}
      onKeyDown={onKeyDown}
    >
      <ConversationHeader summary={summary} onClose={onClose} />
      <MessageList
        conversation={conversation}
        list={list}
        unread={summary.unread}
        scroller={scroller}
        onEdit={setEdited}
      />
      <TypingLine userIds={summary.typing} />
      {summary.isWritable ? (
        <Composer
          key={edited?.key}
          conversation={conversation}
          edited={edited}
          lastOwn={list.messages.findLast(
            ({ isOwn, id, contentType }) => isOwn && id > 0 && contentType === 'text',
          )}
          onEdit={setEdited}
          onSent={() => scroller.current?.scrollTo({ top: 0 })}
        />
      ) : (
        <p className="composer-closed">You cannot write here any more.</p>
      )}
    </article>
  )
}
