import type { Conversation, Message } from '@hermod/client'
import { UserNames } from '../people/user-name.js'
import { useAttempt } from '../ui/notice.js'

interface ReactionsProps {
  readonly conversation: Conversation
  readonly message: Message
  readonly tabIndex: number
}

/** The reactions below a message: a click adds or removes the own one, a tooltip names the users. */
export function Reactions({ conversation, message, tabIndex }: ReactionsProps) {
  const attempt = useAttempt()
  if (message.reactions.length === 0) return null
  return (
    <ul className="reactions" aria-label="Reactions">
      {message.reactions.map(({ key, count, userIds, isOwn }) => (
        <li key={key}>
          <button
            type="button"
            className="reaction"
            aria-pressed={isOwn}
            tabIndex={tabIndex}
            onClick={() => attempt(conversation.react(message, key, { isOn: !isOwn }))}
          >
            <span className="reaction-key">{key}</span> {count}
            <span className="reaction-users">
              <UserNames userIds={userIds} more={count - userIds.length} />
            </span>
          </button>
        </li>
      ))}
    </ul>
  )
}
