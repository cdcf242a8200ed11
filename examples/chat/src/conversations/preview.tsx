import type { ConversationSummary } from '@hermod/client'
import { useUser } from '@hermod/client/react'
import { previewText } from '../message/preview-text.js'
import { MessageStatusIcon } from '../message/message-status-icon.js'

/** The last message of a conversation in one line, or who types. */
export function Preview({ summary }: { readonly summary: ConversationSummary }) {
  const { kind, lastMessage, typing } = summary
  if (lastMessage?.stream?.state === 'open')
    return <span className="preview typing-text">writing …</span>
  if (typing.length > 0) return <span className="preview typing-text">typing …</span>
  if (!lastMessage)
    return <span className="preview">{lastMessage === null && 'No message yet'}</span>
  return (
    <span className="preview">
      {lastMessage.isOwn && <MessageStatusIcon status={lastMessage.status} />}
      {kind === 'group' && !lastMessage.isOwn && !lastMessage.isSystem && (
        <SenderName userId={lastMessage.senderId} />
      )}
      {previewText(lastMessage)}
    </span>
  )
}

function SenderName({ userId }: { readonly userId: number }) {
  const user = useUser(userId)
  return user === undefined ? null : `${user.name}: `
}
