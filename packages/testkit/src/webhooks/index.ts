export {
  type RawAnswer,
  type ReceivedEvent,
  type ReceivedRequest,
  type ReceiverAnswer,
  type ReceiverOptions,
  type StatusAnswer,
  WebhookReceiver,
  wrongAnswers,
} from './receiver.js'
