import { useClient, useUser } from '@hermod/client/react'
import { IconButton } from '../ui/icon-button.js'
import { useAttempt } from '../ui/notice.js'

/** Blocks a user, or ends the block; a blocked user's messages fail. */
export function BlockButton({ userId }: { readonly userId: number }) {
  const client = useClient()
  const attempt = useAttempt()
  const isBlocked = useUser(userId)?.isBlocked ?? false
  return (
    <IconButton
      icon="block"
      label={isBlocked ? 'Unblock' : 'Block'}
      aria-pressed={isBlocked}
      onClick={() =>
        attempt(isBlocked ? client.contacts.unblock(userId) : client.contacts.block(userId))
      }
    />
  )
}
