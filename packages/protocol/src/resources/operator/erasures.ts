import { erasureModes, holdKinds } from '../../enums.js'
import { instant, resource } from '../../resource.js'
import { CheckFault } from './integrity.js'
import { array, boolean, freeObject, int64, type Static, stringEnum, text } from '../../schema.js'

/** A certificate has nothing of the person but the ID. */
export const ErasureCertificate = resource(
  'ErasureCertificate',
  'What an erasure of a person has removed.',
  {
    app_id: text('application'),
    user_id: int64({ description: 'ID of the user, which stays known as deleted' }),
    begun_at: instant('when it began'),
    finished_at: instant('when it ended; 0: unfinished'),
    messages: stringEnum(erasureModes, { description: 'what became of the messages' }),
    reason: text('the reason that was given'),
    counts: freeObject({
      description:
        'the rows of the person when it began, by table; all of them are gone, or emptied',
    }),
    files: int64({ description: 'number of removed files' }),
    is_scrubbed: boolean({
      description:
        'true: what the file of the embedded database kept of removed rows was overwritten; false: PostgreSQL, or a file of more than 137 GB, which hermod compact writes anew',
    }),
    digest: text('SHA-256 in hex of the other members as JSON with sorted names; "": unfinished'),
  },
)
/** A certificate. */
export type ErasureCertificate = Static<typeof ErasureCertificate>

/** Data of /operator/v1/user/erasures. */
export const ErasureList = resource('ErasureList', 'Erasures, the newest first.', {
  erasures: array(ErasureCertificate, { description: 'the certificates' }),
})

/** Data of /operator/v1/user/check_erased; empty `faults` means that nothing was found. */
export const ErasedReport = resource('ErasedReport', 'Data of an erased user that was found.', {
  checked: int64({ description: 'number of tables and files that were searched' }),
  faults: array(CheckFault, { description: 'the places with data' }),
})
/** The outcome of a search. */
export type ErasedReport = Static<typeof ErasedReport>

/** A hold. */
export const ErasureHold = resource(
  'ErasureHold',
  'A user or a conversation that neither an erasure nor retention may change.',
  {
    app_id: text('application'),
    name: text('name of the case'),
    kind: stringEnum(holdKinds, { description: 'what is held' }),
    user_id: int64({ description: 'the user; 0: a conversation' }),
    conversation: array(int64(), {
      description: 'the two users of the conversation, or the group; []: a user',
    }),
    reason: text('the reason that was given'),
    held_at: instant('since when'),
  },
)
/** A hold. */
export type ErasureHold = Static<typeof ErasureHold>

/** Data of /operator/v1/hold/list. */
export const HoldList = resource('HoldList', 'Holds, by application and name.', {
  holds: array(ErasureHold, { description: 'the holds' }),
})
