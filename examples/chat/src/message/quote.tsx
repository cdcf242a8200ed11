import type { Message, Quote as QuoteOfMessage } from '@hermod/client'
import { UserName } from '../people/user-name.js'
import { previewText } from './preview-text.js'

interface QuoteProps {
  readonly message: Message
  readonly tabIndex: number
  /** Called with the ID of the original. */
  onJump(messageId: number): void
}

const gone: Readonly<Record<Exclude<QuoteOfMessage['state'], 'present'>, string>> = {
  recalled: 'This message was recalled.',
  removed: 'This message is no longer kept.',
  hidden: 'You cannot see this message.',
}

/** The original of a reply, above its text; a click goes there. */
export function Quote({ message: { quote, replyTo }, tabIndex, onJump }: QuoteProps) {
  if (replyTo === undefined) return null
  if (quote !== undefined && quote.state !== 'present')
    return <p className="quote gone">{gone[quote.state]}</p>
  return (
    <button
      type="button"
      className="quote"
      title="Go to this message"
      tabIndex={tabIndex}
      onClick={() => onJump(replyTo.id)}
    >
      {/* Not read yet: the click works all the same. */}
      {quote === undefined ? '…' : <QuoteLines {...quote} text={previewText(quote)} />}
    </button>
  )
}

interface QuoteLinesProps {
  readonly senderId?: number
  readonly text: string
}

/** The sender and the text of a quoted message. */
export function QuoteLines({ senderId = 0, text }: QuoteLinesProps) {
  return (
    <>
      <span className="quote-sender">
        <UserName userId={senderId} />
      </span>
      <span className="quote-text">{text}</span>
    </>
  )
}
