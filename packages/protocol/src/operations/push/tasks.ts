import {
  apnsPushTypes,
  clickActions,
  distributionStrategies,
  interruptionLevels,
  liveActivityEvents,
  meaningsOf,
  notificationImportances,
  pushMessageTypes,
  vendorClassification,
  vendorPushMode,
  vendorSequence,
} from '../../enums.js'
import { operation } from '../../operation.js'
import { PushTask, PushTaskStatistics } from '../../resources/push/push.js'
import {
  array,
  boolean,
  double,
  freeObject,
  int64,
  intEnum,
  list,
  object,
  optional,
  string,
  stringEnum,
  type TProperties,
  Type,
} from '../../schema.js'
import { post } from '../fields.js'
import { notifyError, notifyFaults } from './notify-faults.js'

const tag = 'Push'
/** The end of the year 9999. */
const lastSecond = 253_402_300_799

function audienceValues(description: string) {
  return optional(list(string(), { description }))
}

const audience = Type.Union(
  [
    stringEnum(['all'], { description: 'all devices' }),
    object(
      {
        tag: audienceValues('at most 500 tags'),
        alias: audienceValues('at most 500 aliases'),
        user_id: optional(list(int64(), { description: 'at most 500 user IDs' })),
        push_token: audienceValues('at most 500 push tokens'),
      },
      { description: 'exactly one of the lists; a device that matches any value is targeted' },
    ),
  ],
  {
    description: 'who receives the push; must not be blank',
    'x-form': 'all or an object with one of tag, alias, user_id, push_token',
  },
)

const setting = object(
  {
    request_id: optional(
      string({
        description: 'deduplication: not pushed if seen before; blank: none',
        maxLength: 256,
      }),
    ),
    distribution_strategy: optional(
      stringEnum(distributionStrategies, {
        description:
          'combined (default): own channel first, vendor channel if offline on it; corepush_only; ospush_only',
      }),
    ),
    ospush_sequence: optional(
      list(stringEnum(vendorSequence), {
        description:
          'vendor priority; ups: all handset vendors; default, also of an empty list: [ups, cloud_gw]',
      }),
    ),
  },
  { description: 'how the push is delivered; may be blank' },
)

function words(description: string, maxLength = 1024, examples: readonly string[] = []) {
  return optional(string({ description, maxLength, ...(examples.length > 0 && { examples }) }))
}

function locArguments(of: string) {
  return optional(
    list(string({ maxLength: 256 }), {
      description: `texts in the places of the ${of}; at most 10`,
      maxItems: 10,
    }),
  )
}

function showTime(description: string) {
  return optional(int64({ description, minimum: 0, maximum: lastSecond }))
}

const vendorFields = {
  sound: words('alert sound'),
  channel_id: words('notification channel'),
  click_action: optional(
    stringEnum(clickActions, {
      description: 'intent: opens a specific page; open_app: opens the app',
    }),
  ),
  intent: words('URI of the page to open; required with click_action intent', 4096),
}

const channelOptions = { description: 'options of this channel' }

/** Fields that only some channels have; `android` has all of them but badge_class and template. */
const someFields = {
  icon: words('small icon: the name of a resource of the app', 256),
  color: optional(
    string({
      description: 'color of the icon',
      maxLength: 7,
      pattern: '^(#[0-9a-fA-F]{6})?$',
      form: 'a color such as #3366ff',
    }),
  ),
  importance: optional(
    stringEnum(notificationImportances, {
      description: 'importance; vendor_n has no high, and takes normal for it',
    }),
  ),
  collapse_key: words(
    'a later push with the same key replaces it while it waits at cloud_gw, which keeps four keys for each device',
    64,
  ),
}
const { icon, color, importance, collapse_key } = someFields
const badge_class = words('desktop-icon entry class')
const template = words('name of the template of the certificate; default: task, else default', 64)

/** Options of one channel: the common fields and further ones. */
function blockWith<P extends TProperties>(further: P) {
  return optional(object({ ...vendorFields, ...further }, channelOptions))
}

const ios = object(
  {
    sound: words('alert sound'),
    content_available: optional(boolean({ description: 'wakes the app in the background' })),
    mutable_content: optional(
      boolean({ description: 'lets the app change the notification before it is shown' }),
    ),
    category: words('category of actions'),
    thread_id: words('groups notifications'),
    subtitle: words('subtitle'),
    ios_gw_collapse_id: optional(
      string({
        description: 'replaces the notification with the same ID; printable ASCII',
        maxLength: 64,
        pattern: '^[ -~]*$',
        form: 'printable ASCII characters',
      }),
    ),
    interruption_level: optional(
      stringEnum(interruptionLevels, {
        description:
          'urgency on the device; time-sensitive and critical need a right of the app; critical sounds at full volume; passive: a change of a live activity goes out with low priority',
      }),
    ),
    relevance_score: optional(
      double({ description: 'place in the summary of notifications', minimum: 0, maximum: 1 }),
    ),
    title_loc_key: words('key of the title in the texts of the app; replaces title'),
    title_loc_args: locArguments('title'),
    loc_key: words('key of the text in the texts of the app; replaces body and big_text'),
    loc_args: locArguments('text'),
    push_type: optional(
      stringEnum(apnsPushTypes, {
        description:
          'the push goes to tokens of certificates with this push_type only, default alert; the start of a live activity: liveactivity_start; voip: a call, which other channels show as a notification, and which ends a minute after it begins unless show_end_time says otherwise; liveactivity: reaches ios_gw only, also devices that are connected',
      }),
    ),
    live_activity: optional(
      object(
        {
          event: stringEnum(liveActivityEvents, { description: 'what happens to the activity' }),
          content_state: optional(
            freeObject({ description: 'new state; start and update need it' }),
          ),
          attributes_type: words('type of the attributes; start needs it', 256),
          attributes: optional(freeObject({ description: 'attributes; start needs them' })),
          stale_date: showTime('the state is out of date from then on, seconds; 0: never'),
          dismissal_date: showTime(
            'with end: the activity disappears then, seconds; 0: the system decides',
          ),
        },
        { description: 'change of a live activity; required with push_type liveactivity' },
      ),
    ),
  },
  { description: 'options of iOS' },
)

const message = object(
  {
    type: optional(
      stringEnum(pushMessageTypes, {
        description: 'text (default), image, cmd (pass-through)',
      }),
    ),
    title: words('title', 1024, ['News']),
    body: words('text', 8192, ['There is something new.']),
    attachment_url: words(
      'URL of an image, audio or video; an image URL ends in jpg, jpeg or png; images under 1 MB; vendor_h and vendor_n show those with https only',
      2048,
    ),
    big_text: words('large text where the vendor has it, else body is used', 16_384),
    badge: optional(
      string({
        description: 'a number sets the badge; a leading + adds to it; blank: +1',
        maxLength: 11,
        pattern: '^(\\+?[0-9]{1,9})?$',
        form: 'a number of at most 9 digits, also after a +, or empty',
      }),
    ),
    ext: optional(freeObject({ description: 'free JSON object; as JSON at most 4096 bytes' })),
    show_begin_time: showTime('show from, seconds; blank or 0: immediately'),
    show_end_time: showTime(
      'show until, seconds, in the future; blank, 0 or later than a day after it begins: a day after it begins',
    ),
    ios: optional(ios),
    android: blockWith(someFields),
    vendor_h: blockWith({ badge_class, icon, color, importance }),
    vendor_x: blockWith({ template }),
    vendor_f: blockWith({}),
    vendor_o: blockWith({ template }),
    cloud_gw: blockWith({ icon, color, collapse_key }),
    vendor_n: blockWith({ badge_class, importance }),
    vendor_v: blockWith({
      push_mode: optional(intEnum(meaningsOf(vendorPushMode), { default: 0 })),
      classification: optional(intEnum(meaningsOf(vendorClassification), { default: 0 })),
    }),
  },
  { description: 'content of the push; must not be blank' },
)

/** The whole body is checked before the task is stored (rule G3). */
export const startPushTask = operation({
  id: 'push.notify',
  methods: post,
  path: '/push/notify',
  tag,
  summary: 'Sends a push notification to devices.',
  description:
    'Answers when the task is on disk and works in the background: push.task.detail counts, push.trace explains. A request_id seen before ' +
    'answers the first task and pushes nothing. Each list of the audience has at most 500 items (12005, which also names all other faults); 12006 without a certificate where ' +
    'distribution_strategy is ospush_only. Images are fetched by the gateways and the devices, not by the service.',
  callers: 'admin',
  scopes: ['push'],
  body: { audience, setting: optional(setting), message },
  violationsOf: notifyFaults,
  errorOf: notifyError,
  data: PushTask,
  errors: ['audience_too_long', 'push_not_enabled'],
})

/** Counts are exact to the device (rule G1). */
export const listPushTaskStatistics = operation({
  id: 'push.task.detail',
  methods: post,
  path: '/push/task/detail',
  tag,
  summary: 'Reads the counts of push tasks on each channel.',
  description: 'In the order of the list; a task that is not known is left out.',
  callers: 'admin',
  scopes: ['push'],
  body: { list: list(int64(), { description: 'task IDs, at most 500' }) },
  data: array(PushTaskStatistics),
})
