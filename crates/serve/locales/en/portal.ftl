# The portal's words in English. The Chinese file has the same keys; a test holds that.

## The frame
skip = Skip to content
nav = Main
nav-search = Search
nav-add = Add documents
nav-sources = Sources
nav-about = About
footer-tagline = metadata, gathered and kept in step
back-home = Back to the first page
sign-in = Sign in
sign-out = Sign out
signed-in-as = Signed in

## Signing in
sign-in-explained = Reading is open to everyone. Adding and editing need a token.
sign-in-token = Token
sign-in-wrong = This is not a valid token. Check that all of it was copied.
sign-in-help = A token is made on the server with
needs-sign-in = This needs you to be signed in.

## Searching
search-label = Search the catalogue
search-placeholder = Title, author, keyword …
search-button = Search
search-none = Nothing found
search-none-hint = Try fewer or other words, or remove a filter.
search-count = { $from }–{ $to } of { $n }
search-unreadable = This query cannot be read:
results = Results
chosen = Filters in use
remove = remove
narrow = Narrow the results
browse = Browse
pages = Pages of results
previous = Previous
next = Next
facet-kind = Kind
facet-source = Source
facet-language = Language
facet-year = Year
facet-creator = Author
facet-subject = Subject
language-zh = Chinese
language-en = English
language-ja = Japanese
language-ko = Korean
language-fr = French
language-de = German
language-ru = Russian
language-es = Spanish

## The first page
home-lead = Search in any language, by what a record says and by the text of its documents.
home-count = { $n ->
    [one] One record
   *[other] { $n } records
}
home-updated = last change
home-latest = Latest
empty-title = An empty catalogue
empty-lead = Add a document, and its title, authors and abstract are read from its pages.
empty-samples = Try it with the samples
empty-samples-explained = A few short documents, in Chinese and in English, that come with zhulu.
add-samples = Add the samples
sign-in-for-samples = Sign in to add the samples
sign-in-printed = The first start of the server printed a link for this.
empty-own = Add your own
empty-own-explained = PDF files, one or many at a time.
empty-command = From the command line
empty-command-explained = Files, whole folders, or other people's repositories:

## A record
untitled = Untitled
record-changed = changed
statements = What is said
files = Files
about-record = About this record
identifier = Identifier
formats = Other formats
sources = Said by
sets = Sets
harvested-from = Harvested from
alike = Possibly the same as
page-image = The pages it was read from
confidence = { $n } % sure
at-page = page { $n }
at-paragraph = paragraph { $n }
at-slide = slide { $n }
at-property = property { $name }
at-bytes = bytes { $from }–{ $to }
language = Language
kind-document = Document
kind-page = Web page
kind-course = Course
kind-api = API
kind-dataset = Dataset
kind-media = Media

## History
history = History
did-put = said
did-delete = removed it
did-release = gave back to the machines:
did-release-all = gave the record back to the machines
did-erase = erased everything said before
was-erased = (erased)
conflict = Two people disagree:
conflict-existence = whether the record should exist
conflict-explained = They made these changes without having seen each other's. The last one stands until somebody edits it.
deleted-title = This record was removed
deleted-explained = Its identifier is kept, so that nobody else gets it and harvesters hear of the removal.
erased-title = This record was erased
erased-explained = It was removed for legal reasons. Nothing of what it said has been kept.
bring-back = Bring it back

## Editing
edit = Edit
edit-explained = What you save outranks every machine, now and after later readings, until you give it back. An empty field says that there is no value.
edit-more = More elements
edit-stale = Somebody else changed this record while you were editing. Your text is still here; compare it with the record, then save again.
save = Save
cancel = Cancel
delete = Remove the record
delete-confirm = Remove this record? Its identifier and history are kept.
release = give back
release-all = Give all back to the machines
release-explained = Drops what people said, so that what the machines read shows again.

## Adding
add-title = Add documents
add-explained = Files are kept, read, and become records. This takes a few seconds each.
add-drop = Drop files here
add-choose = or choose them; PDF is read best
add-button = Add
add-limit = At most { $n } MB at a time.
add-otherwise = Other ways
add-more = Add more
progress-title = Reading …
progress-over = Done
progress-count = { $done } of { $n } finished
state-waiting = waiting
state-working = being read
state-failed = failed
state-done = done

## Sources and about
sources-explained = Who speaks in this catalogue: folders, repositories, feeds, and people.
source-name = Name
source-kind = Kind
source-address = Address
source-records = Records
source-kind-files = Files
source-kind-oai = Repository
source-kind-feed = Feed
source-kind-site = Site
jobs = Work in progress
about-lead = zhulu (著录, “to enter in a catalogue”) gathers metadata from documents and repositories, keeps every statement with its evidence, and publishes it.
figure-records = records
figure-deleted = removed
figure-log = changes in the log
doors = Doors for programs
door-oai = Harvest the records in Dublin Core, with deletions and sets.
door-rss = Follow what is new.
door-api = Search, read, edit and upload as JSON.
search-help = How to search
help-words = records with all of these words
help-phrase = these words next to each other
help-prefix = words that begin so
help-field = words in the title, an author
help-date = from one year to another
feed-description = The latest records

## What goes wrong
status-400 = This request cannot be understood
status-401 = Please sign in
status-403 = Not from another site
status-404 = There is nothing here
status-409 = This did not fit
status-413 = Too large
status-503 = Not available at the moment
status-507 = No space left
status-other = Something went wrong

## Elements
element-title = Title
element-alternative = Alternative title
element-creator = Author
element-contributor = Contributor
element-affiliation = Affiliation
element-abstract = Abstract
element-description = Description
element-subject = Subject
element-publisher = Publisher
element-date = Date
element-created = Created
element-issued = Published
element-modified = Modified
element-type = Type
element-format = Format
element-extent = Extent
element-identifier = Identifier
element-citation = Citation
element-source = Source
element-language = Language
element-relation = Relation
element-is-part-of = Part of
element-coverage = Coverage
element-spatial = Place
element-temporal = Period
element-bounding-box = Bounding box
element-rights = Rights
element-license = Licence
element-hours = Hours
element-parameter = Parameter
