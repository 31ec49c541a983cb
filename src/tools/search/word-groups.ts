/** Lists words that mean the same, and what well-known products are for. They are about what people ask tools for. */

/** Words of one line mean nearly the same where people ask for a tool. Several may belong to more than one line. */
export const meanings = `
create add new make open insert register start raise file log draft compose set write begin establish enter
delete remove erase drop destroy purge trash discard clear wipe rid unlink dispose
update edit change modify patch alter adjust revise rewrite amend set correct fix rename replace
list browse enumerate all overview fetch index show display view
read get fetch retrieve view show open load look display obtain see inspect details check lookup
search find query lookup look locate discover hunt filter match grep where
send deliver mail dispatch transmit notify push post message text email
reply respond answer
post publish write share broadcast announce release put
close finish complete done resolve end finished mark completed conclude tick
cancel abort stop call revoke void withdraw scrap
stop halt shutdown pause terminate kill suspend off
start run launch boot begin trigger execute kick invoke fire spin
restart reboot bounce reload recycle
pause hold suspend freeze halt mute
resume continue unpause restart proceed
move relocate transfer shift migrate reposition drag
copy duplicate clone replicate
upload attach import put add
download export save pull fetch
approve accept confirm allow authorize permit sanction sign
reject decline deny refuse disapprove
assign delegate give allocate hand responsible owner
merge combine join unite integrate consolidate
compare diff difference differences versus changed contrast
rollback revert undo restore roll back previous
restore recover undelete back bring revive
archive store retire shelve away
subscribe follow watch
unsubscribe unfollow leave
invite add bring ask
schedule plan book arrange appointment reserve calendar
book reserve reservation booking
calculate compute work figure sum total aggregate
count number many total tally amount how
translate convert language
convert transform turn change translate
validate verify check test confirm lint
lock block freeze protect restrict
unlock unblock
enable activate switch turn on
disable deactivate switch turn off
star favourite favorite bookmark like
rate score review rank
label tag mark categorize category classify topic
comment remark note feedback reply annotate annotation
message chat dm direct text note conversation
email mail message inbox letter
issue ticket bug problem defect task case incident story
bug defect error fault broken crash
task todo issue item work job assignment chore
incident outage alert emergency page
alert alarm notification warning notify monitor
error exception failure crash fault bug
project board initiative
board kanban column
sprint iteration cycle
milestone epic goal deadline
pull merge request pr
repository repo codebase project code
branch fork line
commit change revision version changeset history
release version deployment
deploy ship rollout release publish deployment
build compile ci pipeline workflow
pipeline workflow build job action ci
workflow automation flow process zap scenario
log logs trace output record
file document attachment paper
document doc file page paper report
page article wiki document doc
folder directory
spreadsheet sheet excel table workbook
cell range row
row record entry line item
record entry row item object
column field attribute property
slide presentation deck powerpoint
image picture photo screenshot pic
video clip recording movie film footage
audio sound recording music
song track music tune
playlist mix
event meeting appointment calendar call
meeting call appointment conference event
calendar agenda schedule diary
availability free busy slot open time
reminder alarm remind alert
contact person people address lead customer
customer client buyer shopper account consumer
account profile user
user person member people account employee colleague
member user participant teammate people
team group department squad
group team
employee staff worker colleague person hire
manager boss supervisor
company organization organisation firm business account employer
deal opportunity sale prospect
lead prospect contact
pipeline funnel stage
invoice bill billing statement
bill invoice charge
payment charge pay transaction paid money
pay payment settle transfer remit
charge payment bill debit
refund reimburse return repay money back
subscription plan membership recurring
price cost fee rate quote pricing
cost spend spending expense price bill expensive
expense spending cost receipt claim
budget spending limit
balance money funds left available
order purchase buy bought
product item goods article merchandise sku
inventory stock supply quantity warehouse
stock share equity inventory
discount coupon promo voucher code
cart basket
shipment parcel package delivery tracking
ship deliver send shipment dispatch
track follow monitor trace
address location place
location place where position address spot
place restaurant location venue business shop
map route direction
route path directions way directions navigate
distance far long travel
weather forecast temperature rain climate
temperature hot cold warm heat degree
database db sql
table relation dataset
query sql select question
schema structure columns
index search
server instance machine vm host box node
instance server vm machine
container docker pod
cluster kubernetes
pod container
service app microservice
secret password credential key token
key token credential
password secret login passphrase
permission access right role share privilege
access permission rights
role permission
share access invite give
domain dns website zone hostname
dns domain record nameserver zone
certificate ssl tls https cert
cache caching
purge clear flush empty invalidate
firewall block rule security waf
bucket storage
object file blob
metric measurement stat graph number
statistic stats analytics metric number figure
analytics statistics traffic stats visits numbers
traffic visits visitors views
visitor visit session
dashboard panel chart overview
chart graph plot diagram
report summary analysis breakdown
summary overview abstract recap gist
funnel conversion dropoff
flag toggle feature switch
experiment test ab
survey form questionnaire poll
form questionnaire survey
response answer submission reply
question ask
poll vote survey
campaign newsletter mailing blast
newsletter campaign mailing
audience list subscriber segment
subscriber recipient
segment audience group
ticket case request issue support
agent representative rep
macro template canned
template boilerplate
channel room
thread conversation replies discussion
reaction emoji
status state presence progress
history past log earlier previous timeline
recent latest last newest
due deadline overdue late
priority urgency urgent importance severity
severity priority critical serious
light lamp bulb
device gadget appliance thing sensor
thermostat heating heater temperature
door lock
camera webcam surveillance
scene mood
volume loud louder quieter sound
play start put
skip next forward
queue upcoming next
artist band singer musician
album record
hotel accommodation stay room lodging
flight plane airline fly
trip travel journey
job vacancy position opening role
candidate applicant
interview meeting
holiday vacation leave absence pto off
leave vacation absence holiday
salary pay payroll wage compensation
payroll salary wages
timesheet hours time
time hours clock
timer stopwatch clock
course class lesson training
student pupil learner
grade mark score
patient person
prescription medication drug medicine
doctor physician
lab test result
vehicle car truck van
driver chauffeur
web internet online website site
website site web page url
link url
url link address
browser page tab
crawl scrape spider
scrape extract crawl content
extract pull parse
screenshot capture picture image
click press tap
type enter fill write
fill enter complete type
navigate go open visit
memory remember fact
remember memory store save keep
forget delete memory
entity node
relation link edge relationship connection
graph network
knowledge facts
summarize summary shorten
sentiment mood
rotate renew
backup snapshot copy
snapshot backup
scale resize grow replicas capacity
resize scale
size large big space
space room storage disk full
limit quota
usage consumption used
version release
environment stage staging
variable setting config env
setting config preference option configuration
setup configure install
install setup
package library dependency module
dependency package library
vulnerability security advisory cve hole
security vulnerability
test spec check
run execution job
job run task
function lambda
notify alert tell inform
hook webhook callback
webhook hook callback
oncall shift rotation duty
escalate
acknowledge ack
merge
ticket
inform notify
note notes memo
notebook note
highlight
bookmark save link
tweet post
followers audience
like
hashtag
feed timeline news
news headlines article
article post story
paper publication study research
author writer
citation reference
stock
currency exchange money
rate
crypto coin bitcoin token
wallet
transaction payment transfer
transfer send move wire
bank account
statement
tax vat
contract agreement
sign signature esign
signature sign
envelope
signer recipient
whiteboard canvas board
shape
sticky note
design mockup
component
frame
color colour
font
layer
asset file media
say said talk tell conversation message history transcript chat spoken
agenda calendar event schedule
postpone delay reschedule update move later shift push
everyone everybody attendee participant
value cell range content
earnings payout income revenue profit money
basket cart checkout
unpaid open outstanding overdue
wasted bloat unused free prune garbage leftover
running active up live
clean prune remove tidy
red failing firing down alert
sitemap map urls
genre music track song jazz rock classical
speaker device playback player
door window garage entity
hoover vacuum clean robot
airport flight
train bus transit directions
drive driving car distance travel
street address road
latitude longitude coordinate geocode
mountain height high altitude elevation hill
outside outdoor weather temperature warm cold hot
rain snow sunny wind storm weather forecast
pollution air quality smog
plane flight ticket fare airline
sleep hotel room stay
delayed late status
hire rent lease
phone mobile cell telephone number call sms
sms text phone
permission see view who access
ring call phone
recorded recording
electronic signature sign
applicant candidate application applied apply
advertise post job vacancy
interview talk meet
rate scorecard score feedback rating
staff employee hr
raise salary compensation
retention return back returning churn
local disk file
study studies paper publication article research
cite citation refer reference
ethereum bitcoin coin crypto
share position stock holding
own position holding portfolio
remind todo task reminder
memorise memorize remember memory knowledge
drop funnel conversion abandoned
attend participant attendee
sum total aggregate group
slow performance latency duration
why explain reason cause analyze
health condition status state
shell exec command terminal console
password secret
autoreply responder vacation reply
mute silence snooze quiet timeout
ban kick block expel
highlight star
advance promote forward
promote live production publish
code program script function
print pdf export
expire expiry expiration valid run
rule policy filter condition
automatic automation rule auto
header title heading
bold italic format style
diagram chart graph plot
directory folder
subpage child children nested
parent above
url address link website
domain hostname subdomain
attachment attach file
picture screenshot image snapshot
interact click press
json structured schema
worldwide country region
hour time duration
worklog time hours log
price quote estimate offer
supplier vendor
vat tax
receipt expense
raise increase
shop store
size large big bytes
shift override schedule
wake escalate page
wake alarm
taxi cab ride
housekeeper maid cleaner housekeeping cleaning
movie film cinema theater
concert show event gig performance
listen hear play music song
add plus sum
subtract minus
multiply product times
divide quotient
sort arrange order
house home apartment property villa
eat restaurant dinner lunch meal
advice guidance tip suggestion recommendation
flip mirror rotate
loud volume
`

/** Well-known products, and what people ask them for. The words count for all tools of a server with such a name. */
export const products = `
github git code repository developer
gitlab git code repository
bitbucket git code repository
jira ticket issue sprint agile
linear ticket issue
asana task todo project
trello card board todo
todoist task todo reminder
clickup task todo
monday board task
notion wiki note page document
confluence wiki documentation page
obsidian note
slack chat message team
discord chat message community
teams chat message meeting
telegram chat message
whatsapp chat message phone
messenger facebook chat message
gmail mail email inbox
outlook mail email calendar
twilio phone sms text call mobile
sendgrid mail email
mailchimp newsletter email marketing
calendar event meeting agenda appointment
drive document file folder
dropbox document file folder
sheets spreadsheet table excel
airtable spreadsheet table database
hubspot customer sales crm marketing
salesforce customer sales crm
pipedrive customer sales crm
zendesk customer support helpdesk
intercom customer support chat
freshdesk customer support helpdesk
stripe payment money card
paypal payment money
shopify shop store
woocommerce shop store
quickbooks accounting bookkeeping finance
xero accounting bookkeeping finance
postgres database sql
mysql database sql
sqlite database sql
snowflake database sql warehouse
bigquery database sql warehouse
mongodb database document mongo
redis cache database
kubernetes k8s cluster container pod
docker container
aws amazon cloud
azure microsoft cloud
gcp google cloud
cloudflare domain cdn website
vercel website hosting deployment
netlify website hosting deployment
sentry error exception crash
grafana monitoring dashboard
prometheus monitoring metric
datadog monitoring metric
pagerduty oncall incident alarm
figma design mockup
canva design
playwright browser website
puppeteer browser website
firecrawl website crawl
spotify music song
home assistant house smart light
maps place route navigation
weather rain temperature outside
travel trip flight hotel
docusign contract sign signature
greenhouse hiring recruiting applicant job
bamboohr employee staff hr
workday employee staff hr
ga4 analytics website visitor
analytics website visitor
amplitude analytics user product
mixpanel analytics user product
memory knowledge remember
filesystem file disk local
arxiv research paper study science
pubmed research paper study medicine
coingecko crypto bitcoin coin
alpaca stock share trading
zoom video call meeting conference
youtube video clip film
twitter post tweet social
linkedin post network job
reddit post forum
wikipedia encyclopedia article knowledge
`
