import type { Message } from '@hermod/client'
import { previewText } from '../message/preview-text.js'
import { QuoteLines } from '../message/quote.js'
import { IconButton } from '../ui/icon-button.js'

interface ComposedQuoteProps {
  readonly message: Message
  onClose(): void
}

/** The message that is being replied to, above the field. */
export function ComposedQuote({ message, onClose }: ComposedQuoteProps) {
  return (
    <div className="composed-quote">
      <p className="quote">
        <QuoteLines senderId={message.senderId} text={previewText(message)} />
      </p>
      <IconButton icon="close" label="Do not reply" onClick={onClose} />
    </div>
  )
}
