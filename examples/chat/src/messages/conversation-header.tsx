import type { ConversationSummary } from '@hermod/client'
import { useClient, useUser } from '@hermod/client/react'
import { Avatar } from '../ui/avatar.js'
import { IconButton } from '../ui/icon-button.js'
import { useAttempt } from '../ui/notice.js'
import { BlockButton } from './block-button.js'
import { MemberNames } from './member-names.js'

interface ConversationHeaderProps {
  readonly summary: ConversationSummary
  onClose(): void
}

/** The name of the conversation, who is there, and what can be done with all of it. */
export function ConversationHeader({ summary, onClose }: ConversationHeaderProps) {
  const { id, kind, title, avatar, isOnline, isPinned } = summary
  const conversation = useClient().conversation(summary)
  const attempt = useAttempt()
  return (
    <header className="conversation-header">
      <IconButton className="back" icon="back" label="Back to the list" onClick={onClose} />
      <Avatar name={title} url={avatar} isOnline={isOnline} />
      <div className="conversation-title">
        <h2>{title}</h2>
        <p>{kind === 'group' ? <MemberNames groupId={id} /> : <Presence summary={summary} />}</p>
      </div>
      <IconButton
        icon="pin"
        label={isPinned ? 'Unpin' : 'Pin to the top'}
        aria-pressed={isPinned}
        onClick={() => attempt(isPinned ? conversation.unpin() : conversation.pin())}
      />
      {kind === 'direct' && <BlockButton userId={id} />}
    </header>
  )
}

/** Programs are not online as users are. */
function Presence({ summary: { id, isOnline } }: { readonly summary: ConversationSummary }) {
  if (useUser(id)?.isBot) return 'bot'
  return isOnline ? 'online' : 'offline'
}
