import type { Conversation, Message } from '@hermod/client'
import { useClient, useGroup, useMembers } from '@hermod/client/react'
import { IconButton } from '../ui/icon-button.js'
import { useAttempt } from '../ui/notice.js'

interface PinButtonProps {
  readonly conversation: Conversation
  readonly message: Message
  readonly tabIndex: number
}

/** Pins and unpins a message, for those who may: both users of a direct conversation, in groups some. */
export function PinButton(props: PinButtonProps) {
  return props.conversation.kind === 'group' ? <PinInGroup {...props} /> : <Pin {...props} />
}

/** Owner and admins pin, and all members where members may edit the group. */
function PinInGroup(props: PinButtonProps) {
  const { id } = props.conversation
  const client = useClient()
  const members = useMembers(id) ?? []
  const role = members.find(({ userId }) => userId === client.userId)?.role
  const mayPin = useGroup(id)?.mayMembersEdit || role === 'owner' || role === 'admin'
  return mayPin && <Pin {...props} />
}

function Pin({ conversation, message, tabIndex }: PinButtonProps) {
  const attempt = useAttempt()
  const isPinned = message.pinned !== undefined
  return (
    <IconButton
      icon="pin"
      label={isPinned ? 'Unpin message' : 'Pin message'}
      aria-pressed={isPinned}
      tabIndex={tabIndex}
      onClick={() =>
        attempt(isPinned ? conversation.unpinMessage(message) : conversation.pinMessage(message))
      }
    />
  )
}
