/** Lists realistic tools with a question for each: `name | description | parameters | question`, below their servers. */

export const catalogueLines = `
# github
create_issue | Create a new issue in a GitHub repository | owner, repo, title, body, labels | report a bug on github
list_issues | List issues of a repository, filtered by state or label | owner, repo, state, labels | which bugs are still open in my github project
add_issue_comment | Add a comment to an existing issue | owner, repo, issue_number, body | reply to somebody under a github ticket
create_pull_request | Open a pull request from a branch | owner, repo, head, base, title | propose my branch for merging on github
merge_pull_request | Merge a pull request into its base branch | owner, repo, pull_number, merge_method | land the PR on github
get_pull_request_diff | Get the diff of a pull request | owner, repo, pull_number | see what a PR changes line by line
request_reviewers | Request reviews of a pull request from users | owner, repo, pull_number, reviewers | ask a teammate to review my PR
fork_repository | Fork a repository into an account | owner, repo, organization | make my own fork of a github project
create_branch | Create a new branch from a commit | owner, repo, branch, from | start a new git branch on github
list_workflow_runs | List runs of a GitHub Actions workflow | owner, repo, workflow_id, status | did the github actions build pass
star_repository | Star a repository | owner, repo | mark a github project as a favourite
# gitlab
create_merge_request | Create a merge request in a GitLab project | project_id, source_branch, target_branch, title | open an MR on gitlab
list_pipelines | List CI pipelines of a project | project_id, ref, status | is the gitlab CI green
retry_pipeline | Retry the failed jobs of a pipeline | project_id, pipeline_id | run the broken gitlab jobs again
get_job_log | Get the trace of a CI job | project_id, job_id | output of a failed gitlab build
approve_merge_request | Approve a merge request | project_id, mr_iid | give my okay to a gitlab MR
create_project | Create a GitLab project | name, namespace, visibility | set up a fresh repo on gitlab
list_protected_branches | List protected branches of a project | project_id | which gitlab branches are protected against pushes
# linear
save_issue | Create or update a Linear issue | team, title, description, assignee | new linear ticket for the mobile team
list_cycles | List the cycles of a team | team, state | current sprint in linear
list_project_milestones | List milestones of a Linear project | project | goals of a linear project
archive_project | Archive a Linear project | project | put away an old linear project
add_issue_relation | Relate two issues as blocking, duplicate or related | issue, related, type | mark a linear ticket as a duplicate of another
list_team_members | List the members of a Linear team | team | who is in which linear team
# jira
create_jira_issue | Create an issue in a Jira project | project_key, issue_type, summary, description | log a new story in jira
transition_issue | Transition an issue to another workflow status | issue_key, transition_id | move the jira ticket to in progress
search_jql | Search issues with JQL | jql, fields, max_results | find all jira tickets assigned to me
add_worklog | Log time spent on an issue | issue_key, time_spent, started | book two hours on a jira ticket
get_sprint_report | Get the report of a sprint of a board | board_id, sprint_id | how did our last jira iteration go
assign_issue | Assign an issue to a user | issue_key, account_id | hand a jira ticket over to a colleague
list_boards | List agile boards | project_key, type | which kanban boards exist in jira
link_issues | Link two Jira issues | inward, outward, type | connect two jira tickets
# slack
chat_post_message | Post a message to a Slack channel | channel, text, thread_ts | tell the marketing channel on slack something
conversations_history | Fetch the history of messages of a channel | channel, oldest, limit | what was said on slack since yesterday
conversations_replies | Fetch the replies of a thread | channel, ts | read the answers below a slack message
reactions_add | Add an emoji reaction to a message | channel, timestamp, name | thumbs up on a slack message
users_lookup_by_email | Find a Slack user by email address | email | slack handle of a person whose email i know
conversations_create | Create a Slack channel | name, is_private | open up a new slack room
conversations_invite | Invite users to a channel | channel, users | bring a colleague into a slack channel
set_presence | Set the presence of the user to away or auto | presence | appear as away in slack
files_upload | Upload a file to Slack | channels, filename, content | attach a pdf to a slack channel
reminders_add | Create a reminder in Slack | text, time, user | have slack remind me at five
# discord
send_discord_message | Send a message to a Discord channel | channel_id, content | write in the discord general channel
ban_member | Ban a member from a guild | guild_id, user_id, reason | kick out a troll on discord for good
create_role | Create a role in a guild | guild_id, name, permissions | add a moderator role in discord
list_guild_members | List the members of a guild | guild_id, limit | people on our discord server
timeout_member | Time out a member of a guild | guild_id, user_id, minutes | mute somebody on discord for ten minutes
# gmail
send_email | Send an email | to, subject, body, cc, attachments | write a mail to my landlord with gmail
search_threads | Search email threads with Gmail's query syntax | query, max_results | look for the mail with the hotel booking in gmail
create_draft | Create a draft email | to, subject, body | prepare a gmail letter without sending it
modify_labels | Add or remove labels of a thread | thread_id, add, remove | tag a gmail conversation as receipts
trash_thread | Move a thread to the trash | thread_id | throw away a gmail conversation
list_attachments | List attachments of a message | message_id | files somebody sent me by gmail
create_filter | Create a filter for incoming mail | criteria, action | have newsletters skip my gmail inbox automatically
set_vacation_responder | Set the vacation auto-reply | enabled, subject, body, start, end | automatic out of office answer in gmail
# google-calendar
create_event | Create an event in a calendar | calendar_id, summary, start, end, attendees | put lunch with Ana in my google calendar
list_events | List events in a time range | calendar_id, time_min, time_max | what is on my agenda tomorrow
delete_event | Delete an event | calendar_id, event_id | call off a meeting in google calendar
query_free_busy | Query free and busy times of calendars | time_min, time_max, calendars | when are both of us free next week
respond_to_event | Respond to an event invitation | event_id, response | accept the invitation to the standup
update_event | Update an event | calendar_id, event_id, start, end | push a google calendar appointment back by an hour
suggest_time | Suggest meeting times for attendees | attendees, duration | find a slot that suits everyone
# google-drive
search_files | Search files in Google Drive | query, mime_type | find the budget document in google drive
read_file_content | Read the content of a Drive file | file_id | open a google doc and read it
share_file | Share a file with a person | file_id, email, role | give someone access to a drive document
create_folder | Create a folder in Drive | name, parent_id | new directory in google drive
move_file | Move a file to another folder | file_id, folder_id | put a drive document in another directory
list_permissions | List the permissions of a file | file_id | who can see this google doc
export_pdf | Export a document as PDF | file_id | turn a google doc into a pdf
restore_version | Restore an earlier revision of a file | file_id, revision_id | go back to yesterday's version of a drive file
# google-sheets
append_rows | Append rows to a sheet | spreadsheet_id, sheet, values | add a line at the bottom of a google spreadsheet
read_range | Read a range of cells | spreadsheet_id, range | values of column B in a spreadsheet
create_spreadsheet | Create a spreadsheet | title, sheets | make an empty google sheet
add_chart | Add a chart to a sheet | spreadsheet_id, range, type | draw a bar diagram in google sheets
format_cells | Format a range of cells | spreadsheet_id, range, format | make the header cells bold
# notion
create_page | Create a page in Notion | parent, title, content | write a new wiki entry in notion
query_database | Query a Notion database | database_id, filter, sorts | filter the entries of a notion table
update_page_properties | Update properties of a page | page_id, properties | change the status field of a notion page
append_blocks | Append blocks to a page | page_id, children | add a paragraph at the end of a notion page
duplicate_page | Duplicate a page | page_id | copy a notion page
list_comments | List comments of a page or block | block_id | remarks people left in notion
move_pages | Move pages to another parent | pages, parent | reorganise notion entries under a different page
# confluence
get_page_by_title | Get a Confluence page by its title | space, title | open the onboarding page in confluence
create_confluence_page | Create a page in a Confluence space | space, title, body, parent | publish a how-to in confluence
search_cql | Search content with CQL | cql, limit | look for docs about VPN in confluence
list_spaces | List Confluence spaces | type | which confluence spaces are there
get_page_children | Get the child pages of a page | page_id | subpages in confluence
# asana
create_asana_task | Create a task in Asana | name, notes, assignee, due_on, projects | new asana todo due on friday
complete_task | Mark a task as complete | task_id | tick off something in asana
set_parent_task | Set the parent of a task | task_id, parent | turn an asana task into a subtask
add_followers | Add followers to a task | task_id, followers | keep someone in the loop on an asana task
list_portfolios | List portfolios of a workspace | workspace | asana portfolios we have
# trello
create_card | Create a card on a list | list_id, name, desc | put a new card on the trello board
move_card | Move a card to another list | card_id, list_id | drag a trello card to done
add_checklist_item | Add an item to a checklist of a card | checklist_id, name | extra checklist point in trello
archive_list | Archive a list | list_id | hide an old trello column
# hubspot
create_contact | Create a contact in HubSpot | email, firstname, lastname, company | save a new lead's details in hubspot
search_deals | Search deals by stage, owner or amount | query, stage, owner | hubspot opportunities about to be won
update_deal_stage | Update the stage of a deal | deal_id, stage | move a hubspot sale forward in the funnel
log_call | Log a call with a contact | contact_id, notes, duration | note down the phone conversation with a hubspot customer
list_companies | List companies | limit, properties | organisations in hubspot
create_email_campaign | Create a marketing email campaign | name, list_id, subject | hubspot newsletter blast
enroll_in_sequence | Enroll a contact in a sales sequence | contact_id, sequence_id | start the hubspot follow-up sequence for a person
# salesforce
soql_query | Run a SOQL query | query | query salesforce records with sql-like language
create_lead | Create a lead in Salesforce | first_name, last_name, company, status | add a prospect to salesforce
convert_lead | Convert a lead into an account and an opportunity | lead_id | turn a salesforce prospect into a customer
update_record | Update a record of an object | object, id, fields | fix a field of a salesforce account
create_case | Create a support case | subject, description, priority, account_id | file a support request in salesforce
describe_object | Describe the fields of an object | object | columns of a salesforce object
run_report | Run a Salesforce report | report_id, filters | salesforce sales figures report
# zendesk
create_ticket | Create a support ticket | subject, comment, requester, priority | open a zendesk request for a customer
update_ticket | Update a ticket's status, priority or assignee | ticket_id, status, priority, assignee | close a zendesk ticket as solved
list_macros | List macros for agents | active | canned answers in zendesk
search_help_center | Search help center articles | query, locale | is there a zendesk help article about refunds
get_satisfaction_ratings | Get satisfaction ratings of tickets | start_time, score | are customers happy with zendesk support
merge_tickets | Merge tickets into one | target_id, ids | combine two zendesk tickets about the same thing
# stripe
create_customer | Create a customer | email, name, metadata | register a new buyer in stripe
create_payment_link | Create a payment link for a price | price, quantity | url where someone can pay with stripe
create_refund | Refund a charge or payment intent | payment_intent, amount, reason | give a customer their money back
list_invoices | List invoices of a customer | customer, status | unpaid stripe bills of a client
cancel_subscription | Cancel a subscription | subscription, at_period_end | end somebody's stripe membership
retrieve_balance | Retrieve the balance of the account | - | how much money is in our stripe account
create_coupon | Create a coupon | percent_off, duration, name | 20 percent off promo in stripe
list_disputes | List disputes of charges | status, charge | stripe chargebacks
create_product | Create a product | name, description, default_price | sell a new item via stripe
list_payouts | List payouts to the bank account | status, arrival_date | when does stripe send us our earnings
# shopify
list_orders | List orders of the shop | status, created_at_min | what did people buy in our shopify store today
update_inventory_level | Set the inventory level of an item at a location | item_id, location_id, available | change how many pieces are in stock in shopify
create_shopify_product | Create a product with variants | title, vendor, variants | put a new t-shirt on sale in shopify
create_discount_code | Create a discount code | code, value, starts_at | shopify voucher for black friday
fulfill_order | Create a fulfillment for an order | order_id, tracking_number, carrier | mark a shopify purchase as shipped
cancel_order | Cancel an order | order_id, reason, restock | call off a shopify purchase
list_abandoned_checkouts | List abandoned checkouts | since | shopify baskets people left without paying
# quickbooks
create_bill | Create a bill from a vendor | vendor, lines, due_date | enter a supplier invoice in quickbooks
profit_and_loss | Get the profit and loss report | start_date, end_date | did we earn money this quarter, quickbooks
record_expense | Record an expense | account, amount, payee, date | note a business expense in quickbooks
reconcile_account | Reconcile a bank account | account, statement_date, ending_balance | match quickbooks with the bank statement
create_estimate | Create an estimate for a customer | customer, lines | quickbooks price quote for a client
# postgres
execute_sql | Execute a SQL query against the database | sql, params | run a select on the postgres db
list_tables | List tables of a schema | schema | what tables are in postgres
describe_table | Describe columns and indexes of a table | schema, table | column types of a postgres table
explain_query | Show the execution plan of a query | sql, analyze | why is my postgres query slow
list_slow_queries | List the slowest queries from pg_stat_statements | limit | most expensive sql in postgres
create_index | Create an index on columns of a table | table, columns, unique | speed up postgres lookups on a column
analyze_bloat | Analyze table bloat and vacuum state | table | wasted space in postgres
# mongodb
find_documents | Find documents in a collection | database, collection, filter, limit | look up entries in a mongo collection
aggregate | Run an aggregation pipeline | database, collection, pipeline | group and sum mongo documents
insert_many | Insert documents into a collection | database, collection, documents | bulk load documents into mongodb
drop_collection | Drop a collection | database, collection | get rid of a mongodb collection
collection_stats | Get storage statistics of a collection | database, collection | how big is a mongo collection
# redis
get_key | Get the value of a key | key | what does redis hold under a key
set_key | Set a key with an optional expiry | key, value, ttl | store a value in redis for an hour
scan_keys | Scan keys that match a pattern | pattern, count | which redis keys start with session
flush_database | Remove all keys of the database | db | empty redis completely
# kubernetes
list_pods | List pods in a namespace | namespace, label_selector | what is running in the k8s production namespace
get_pod_logs | Get logs of a pod | namespace, pod, container, tail | output of a crashing pod
scale_deployment | Scale a deployment to a number of replicas | namespace, deployment, replicas | run five copies of the web deployment
rollout_restart | Restart a deployment rollout | namespace, deployment | bounce the api deployment in kubernetes
apply_manifest | Apply a YAML manifest | manifest, namespace | roll out a yaml file to the cluster
describe_node | Describe a node with its conditions | node | health of a kubernetes worker machine
exec_in_pod | Execute a command in a container of a pod | namespace, pod, command | open a shell in a pod
rollback_deployment | Roll back a deployment to an earlier revision | namespace, deployment, revision | undo the last kubernetes rollout
list_cluster_events | List events of a namespace | namespace, since | what happened in the cluster recently
cordon_node | Mark a node as unschedulable | node | keep new pods off a kubernetes node
# docker
run_container | Run a container from an image | image, name, ports, env | start an nginx docker container
list_containers | List containers | all, filters | which docker containers are up
stop_container | Stop a container | container, timeout | shut down a docker container
build_image | Build an image from a Dockerfile | context, tag, dockerfile | build my dockerfile
pull_image | Pull an image from a registry | image, tag | download a docker image
prune_system | Remove unused images, containers and volumes | all, volumes | free disk space taken by old docker stuff
# aws
list_ec2_instances | List EC2 instances | region, state | our virtual machines on aws
stop_ec2_instance | Stop an EC2 instance | instance_id | shut down an aws vm
s3_put_object | Put an object into an S3 bucket | bucket, key, body | upload a file to s3
s3_list_objects | List objects of an S3 bucket | bucket, prefix | what files are in the s3 bucket
invoke_lambda | Invoke a Lambda function | function_name, payload | run a lambda
get_cost_and_usage | Get cost and usage by service | start, end, granularity | how much do we spend on aws per month
cloudwatch_get_metric | Get statistics of a CloudWatch metric | namespace, metric, start, end | cpu graph of an aws machine
create_iam_user | Create an IAM user | user_name, groups | aws account for a new employee
rotate_secret | Rotate a secret in Secrets Manager | secret_id | renew an aws password
describe_rds_instances | Describe RDS database instances | identifier | status of our aws databases
# cloudflare
list_zones | List zones of the account | name, status | which domains do we have on cloudflare
create_dns_record | Create a DNS record in a zone | zone_id, type, name, content, ttl | point a subdomain at an ip with cloudflare
purge_cache | Purge cached files of a zone | zone_id, files, purge_everything | cloudflare still shows the old site, invalidate it
create_firewall_rule | Create a WAF custom rule | zone_id, expression, action | block traffic from a country on cloudflare
deploy_worker | Deploy a Worker script | name, code, bindings | ship a cloudflare worker
query_d1 | Query a D1 database | database_id, sql | select from a cloudflare d1 database
list_r2_buckets | List R2 buckets | account_id | cloudflare storage buckets
zone_analytics | Get traffic analytics of a zone | zone_id, since, until | how many hits did the website get, cloudflare
list_certificates | List TLS certificates of a zone | zone_id | when does the cloudflare ssl cert run out
# sentry
list_sentry_issues | List unresolved issues of a project | organization, project, query | newest exceptions in sentry
get_issue_details | Get details and stack trace of an issue | issue_id | stacktrace of a sentry error
resolve_issue | Resolve an issue | issue_id, in_release | mark a sentry error as fixed
list_releases | List releases of a project | organization, project | versions that sentry has seen
find_trace | Get the spans of a trace | trace_id | why was this request slow, sentry spans
create_alert_rule | Create an alert rule for a project | project, conditions, actions | have sentry warn us about many errors
# grafana
search_dashboards | Search dashboards | query, tags | find the latency dashboard in grafana
query_prometheus | Query Prometheus with PromQL | expr, start, end, step | memory over the last hour from prometheus
query_loki | Query logs of Loki with LogQL | expr, start, end, limit | grep the loki logs
list_alert_rules | List alert rules and their states | folder, state | which grafana alarms are firing
create_annotation | Create an annotation on a dashboard | dashboard, text, tags | mark the time of the deploy in grafana
create_silence | Silence alerts that match labels | matchers, duration, comment | stop grafana alarms during maintenance
# pagerduty
list_incidents | List incidents | statuses, urgencies, since | what is on fire right now in pagerduty
acknowledge_incident | Acknowledge an incident | incident_id | tell pagerduty i am looking at it
get_on_call | Get who is on call for a schedule | schedule_id, at | whom to ring at night, pagerduty
create_override | Create an override of a schedule | schedule_id, user, start, end | swap my pagerduty shift
escalate_incident | Escalate an incident to the next level | incident_id, level | wake the next person in pagerduty
# datadog
get_metrics | Query timeseries of metrics | query, from, to | datadog graph of requests per second
search_logs | Search logs | query, from, to, limit | find error lines in datadog
list_monitors | List monitors and their states | tags, name | datadog checks that are red
mute_monitor | Mute a monitor | monitor_id, end | quiet a noisy datadog check
list_hosts | List hosts with their tags | filter | servers that report to datadog
# vercel
list_deployments | List deployments of a project | project, state, limit | recent vercel rollouts
get_build_logs | Get build logs of a deployment | deployment_id | why did the vercel build break
promote_deployment | Promote a deployment to production | project, deployment_id | make the preview live on vercel
add_env_variable | Add an environment variable to a project | project, key, value, target | set a config value on vercel
add_domain | Add a domain to a project | project, domain | use my own hostname with vercel
# figma
get_design_context | Get the design of a frame as code and tokens | file_key, node_id | figma mockup to code
export_images | Export nodes as PNG or SVG | file_key, ids, format, scale | save a figma icon as svg
get_variables | Get variables and styles of a file | file_key | colours and fonts used in figma
post_comment | Post a comment on a file | file_key, message, position | leave feedback on a figma design
list_components | List published components of a library | team_id | reusable parts in our figma library
# playwright
browser_open | Open a page in the browser | url | go to a website with playwright
browser_click_element | Click an element of the page | ref, button | press the login button in the playwright browser
browser_fill_form | Fill the fields of a form | fields | complete a web form with playwright
browser_take_screenshot | Take a screenshot of the page | full_page, path | picture of the current playwright page
browser_network_requests | List network requests of the page | - | what does the page load over the network
browser_evaluate | Evaluate JavaScript on the page | expression | execute js in the playwright tab
# firecrawl
scrape_url | Scrape one page into Markdown | url, formats | get the text of a website with firecrawl
crawl_site | Crawl a site and return its pages | url, limit, include_paths | firecrawl every page of a site
map_site | List all URLs of a site | url, search | sitemap of a website
extract_structured | Extract structured data from pages by a schema | urls, schema, prompt | pull product prices off web pages as json
# spotify
play_track | Start playback of a track, album or playlist | uri, device_id | put on some jazz
pause_playback | Pause the playback | device_id | stop the music
add_to_queue | Add a track to the queue | uri | play this song next on spotify
create_playlist | Create a playlist | name, description, public | new spotify mix for the party
get_top_items | Get the user's top tracks or artists | type, time_range | my most listened to bands
search_catalog | Search tracks, albums, artists and playlists | query, type | find a song on spotify
transfer_playback | Transfer playback to another device | device_id | play the music on the kitchen speaker
save_tracks | Save tracks to the library | ids | like a song on spotify
# home-assistant
turn_on_light | Turn on a light with brightness and colour | entity_id, brightness, color | make the living room lamp brighter
set_climate_temperature | Set the target temperature of a thermostat | entity_id, temperature | it is too cold in the bedroom
lock_door | Lock a door | entity_id | shut the front door lock
get_entity_state | Get the state of an entity | entity_id | is the garage door open
activate_scene | Activate a scene | scene_id | movie mood in the living room
list_cameras | List camera entities with snapshots | area | show the garden camera
trigger_automation | Trigger an automation | automation_id | run the good night automation
vacuum_start | Start cleaning with a vacuum robot | entity_id, rooms | hoover the kitchen
# google-maps
search_places | Search places by text near a location | query, location, radius | sushi restaurants around here
get_directions | Get directions between two places | origin, destination, mode | how do i get to the airport by train
distance_matrix | Compute travel distance and time | origins, destinations, mode | how long does driving to each office take
geocode_address | Convert an address into coordinates | address | latitude and longitude of a street
get_place_details | Get details of a place such as opening hours | place_id | when does the museum open
elevation | Get the elevation of points | locations | how high is that mountain
# weather
get_forecast | Get the weather forecast for days ahead | latitude, longitude, days | will it rain at the weekend
get_current_conditions | Get the current weather | location | how warm is it outside right now
get_severe_alerts | Get severe weather alerts for a region | region | is there a storm warning
air_quality | Get the air quality index | location | pollution level in delhi
# travel
search_flights | Search flights between airports | from, to, depart, return, passengers | cheap plane tickets to Lisbon
book_hotel | Book a room in a hotel | hotel_id, check_in, check_out, guests | reserve somewhere to sleep in Rome
search_hotels | Search hotels in a city | city, check_in, check_out, stars | accommodation in Vienna for three nights
get_flight_status | Get the status of a flight | flight_number, date | is my plane delayed
rent_car | Rent a car | pickup, dropoff, class | hire a vehicle at the airport
check_in_online | Check in for a flight and get the boarding pass | booking, passenger | boarding pass for my trip
# twilio
send_sms | Send a text message to a phone number | to, from, body | text the customer's mobile
make_call | Make a phone call with a message | to, from, twiml | ring somebody and play a message
list_recordings | List recordings of calls | call_sid | listen to recorded phone conversations
buy_phone_number | Buy a phone number | country, area_code, capabilities | get us a us phone line
lookup_number | Look up the carrier of a phone number | number | what carrier does this phone number belong to
# docusign
send_envelope | Send an envelope with documents for signature | documents, signers, subject | have a contract signed electronically
get_envelope_status | Get the status of an envelope | envelope_id | has the client signed yet
void_envelope | Void an envelope in progress | envelope_id, reason | withdraw a contract that was sent for signing
list_templates | List templates | folder | our standard contracts in docusign
# greenhouse
list_candidates | List candidates of a job | job_id, stage | who applied for the engineer position
schedule_interview | Schedule an interview with a candidate | application_id, interviewers, start | set a date to talk with an applicant
reject_application | Reject an application | application_id, reason | turn an applicant down
create_job_post | Create a job post | title, department, location, description | advertise an open position
submit_scorecard | Submit a scorecard of an interview | interview_id, rating, notes | rate the applicant after the talk
# bamboohr
request_time_off | Request time off | employee_id, start, end, type | i want holidays in july
get_employee | Get an employee's data | employee_id, fields | whose manager is who, staff details
list_whos_out | List who is out | start, end | colleagues on vacation this week
update_salary | Update the compensation of an employee | employee_id, rate, effective | give an employee a raise
onboard_new_hire | Start onboarding of a new hire | employee_id, start_date, tasks | prepare the first day of a new colleague
# mailchimp
add_subscriber | Add a subscriber to an audience | list_id, email, tags | sign someone up for the mailchimp newsletter
send_campaign | Send a campaign | campaign_id | mailchimp blast goes out now
get_campaign_report | Get opens and clicks of a campaign | campaign_id | how many people opened our mailchimp newsletter
unsubscribe_member | Unsubscribe a member of an audience | list_id, email | take an address off the mailchimp list
# ga4
run_traffic_report | Run a report of traffic by dimension and metric | property, dimensions, metrics, date_range | visitors per country last month
realtime_users | Get active users in real time | property | how many people are on the site right now
funnel_report | Run a funnel report | property, steps | where do shoppers drop out before checkout
list_conversions | List conversion events | property | which conversions does analytics count
# amplitude
query_events | Query events by segment | event, segment, interval | how often is the export button used in amplitude
create_cohort | Create a cohort of users | name, definition | group amplitude users who came back
get_retention | Get the retention of a cohort | cohort, period | do new users come back after a week
toggle_feature_flag | Turn a feature flag on or off | flag_key, enabled, environment | switch a feature flag off in staging
# memory
create_entities | Create entities in the knowledge graph | entities | memorise a person and a company in the knowledge graph
add_observations | Add observations to entities | observations | remember one more fact about Ana in the graph
search_nodes | Search nodes of the knowledge graph | query | what do we know about Ana, knowledge graph
delete_entities | Delete entities and their relations | names | forget a person in the knowledge graph
# filesystem
read_text_file | Read a text file from disk | path, head, tail | show the contents of readme.txt on disk
write_disk_file | Write a file to disk | path, content | save text to a local file
list_directory | List a directory | path | what is in this local folder
move_path | Move or rename a file or directory | source, destination | rename a local file
get_file_info | Get size and times of a file | path | how large is a file on disk
# arxiv
search_papers | Search papers by topic, author and date | query, max_results, categories | studies about protein folding
download_paper | Download a paper as text | paper_id | full text of a publication on arxiv
list_citations | List papers that cite a paper | paper_id | who refers to this article
# coingecko
get_price | Get the price of coins | ids, vs_currencies | what is bitcoin worth in euros
get_market_chart | Get historical market data of a coin | id, days | ethereum price history of the past month
list_trending | List trending coins | - | hyped crypto at the moment
# alpaca
place_order | Place an order for a stock | symbol, qty, side, type | buy ten shares of apple
list_positions | List open positions | - | which shares do i own
cancel_trade_order | Cancel an open order | order_id | withdraw my open stock order
get_bars | Get price bars of a stock | symbol, timeframe, start | tesla share price over the last year
# todoist
add_todo | Add a task with a due date | content, due_string, priority, project | remind me to buy milk on saturday, todoist
close_todo | Close a task | task_id | tick milk off my todoist
list_todos | List tasks by filter | filter, project | what do i have to do today in todoist
reschedule_todo | Reschedule a task | task_id, due_string | put a todoist item off until monday
# zoom
create_meeting | Create a video meeting | topic, start_time, duration | set up a zoom conference for tomorrow
get_meeting_transcript | Get the transcript of a meeting | meeting_id | what was said in the zoom meeting
list_cloud_recordings | List cloud recordings | from, to | watch the zoom video again
list_participants | List participants of a past meeting | meeting_id | who attended the zoom call
# youtube
search_videos | Search videos | query, order, max_results | cooking clips on youtube
get_transcript | Get the transcript of a video | video_id, language | what is said in a youtube clip
upload_video | Upload a video | title, file, privacy | put my film on youtube
list_video_comments | List comments of a video | video_id | what do viewers think of my youtube film
`

/** Questions that were written after the weights and word groups of the search. They were not changed since. */
export const laterQuestions = `
github | create_issue | open a ticket in a github repo
slack | chat_post_message | post a note in a slack channel
slack | conversations_replies | read a slack thread
gmail | search_threads | find old emails from my bank
gmail | create_draft | draft an answer to an email
google-calendar | create_event | schedule an appointment with the dentist
google-calendar | list_events | show my appointments for monday
google-drive | share_file | let a colleague edit my google drive document
google-sheets | append_rows | insert a new row into the expenses sheet
notion | query_database | list entries of my notion reading list database
asana | complete_task | finish an asana task
trello | move_card | move trello card to another column
hubspot | create_contact | add a person to hubspot
salesforce | create_lead | new salesforce lead from a web form
zendesk | create_ticket | customer complains, open a zendesk case
stripe | create_refund | reimburse a stripe payment
stripe | cancel_subscription | stop a customer's subscription
stripe | create_payment_link | generate a stripe checkout link
shopify | list_orders | latest shopify purchases
shopify | update_inventory_level | set the stock of a shopify article to zero
quickbooks | record_expense | book a taxi receipt in quickbooks
postgres | execute_sql | query the database for all users
postgres | list_tables | show the tables of the database
mongodb | drop_collection | delete a mongo collection
kubernetes | get_pod_logs | tail the logs of a kubernetes pod
kubernetes | scale_deployment | increase the replicas of a kubernetes service
docker | stop_container | kill a docker container
aws | list_ec2_instances | which ec2 servers are running
aws | s3_put_object | save a file in an aws bucket
aws | get_cost_and_usage | monthly aws bill
cloudflare | create_dns_record | add an A record for my domain
cloudflare | purge_cache | clear the cdn cache
sentry | get_issue_details | details of a crash in sentry
grafana | query_prometheus | run a promql query
pagerduty | get_on_call | who has on-call duty tonight
datadog | mute_monitor | silence a datadog alert
vercel | list_deployments | show vercel deploys
figma | export_images | export a figma frame as png
playwright | browser_take_screenshot | capture a screenshot of the website
spotify | play_track | play a song by Queen
spotify | create_playlist | make a playlist for running
home-assistant | turn_on_light | switch on the kitchen lights
home-assistant | lock_door | lock the front door
google-maps | get_directions | route from Berlin to Munich
weather | get_forecast | weather for the next three days
travel | search_flights | find flights from Oslo to Paris
travel | book_hotel | book a hotel room for two
twilio | send_sms | send an SMS to my brother
docusign | send_envelope | send a contract for e-signature
greenhouse | schedule_interview | arrange an interview with a candidate
bamboohr | request_time_off | ask for two vacation days
mailchimp | send_campaign | send out the newsletter
ga4 | run_traffic_report | page views by country
arxiv | search_papers | find research papers on diffusion models
coingecko | get_price | current price of ethereum
alpaca | place_order | purchase stock
todoist | add_todo | add a reminder to todoist
zoom | create_meeting | schedule a zoom call
youtube | get_transcript | transcript of a youtube video
filesystem | list_directory | list files in a directory
`
