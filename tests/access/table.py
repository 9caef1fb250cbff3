"""For whom each way into the product is: a new way fails the tests of this folder until it has a line here.

A word says (roles.py) who gets further than to what is not there, at a row that is shared with the space. A private row
of the author is there for the author alone, whatever the word is, and who has no role in the space is told of a shared
row what they are told of one that does not exist.

Whoever may not, must change nothing. What those who may do by POST, or by an operation that changes something, is the
subject of other tests.
"""

# The patterns of the resolver, by their name, or their path when they have none; "-": the method is not taken.
PAGES = """
                                    GET         POST

    healthz                         everybody   -
    readyz                          everybody   -
    metrics                         nobody      -
    diagrams                        everybody   -
    manifest                        everybody   -
    favicon.ico                     everybody   -

# Where programs sign in: tests/oneclaw/people/test_program_sign_in.py
    resource_metadata               everybody   -
    .well-known/oauth-protected-resource/mcp  everybody  -
    server_metadata                 everybody   -

# Accounts
    welcome                         nobody      nobody
    invited                         nobody      nobody
    first_account                   nobody      nobody
    resume_change                   nobody      -
    settings                        persons     persons
    usage                           persons     -
    make_key                        persons     persons
    dismiss_notices                 -           persons
    timezone_here                   persons     persons
    revoke_key                      -           any-id
    end_device                      -           any-id
    send_archive                    persons     -
    import_account                  persons     persons
    delete_account                  persons     persons

# For those who run the server for others
    team                            staff       staff
    team_people                     staff       -
    team_person                     staff       -
    sign_out_person                 -           staff
    change_role                     -           staff
    set_active                      -           staff
    give_link                       -           staff
    confirm_password                -           staff
    offboard                        staff       staff
    offboarding                     staff       -
    offboarding_receipt             staff       -
    team_keeping                    staff       -
    set_rule                        -           staff
    remove_rule                     -           staff
    set_hold                        -           staff
    end_hold                        -           staff
    invitations                     staff       -
    invite                          -           staff
    invite_many                     -           staff
    renew_invitation                -           staff
    revoke_invitation               -           staff
    decide_sign_up                  -           staff
    team_usage                      staff       -
    team_usage_csv                  staff       -
    team_budgets                    staff       staff
    team_budget                     staff       staff
    team_limits                     staff       -
    change_limit                    -           staff
    team_settings                   staff       -
    change_setting                  -           staff
    dismiss_announcement            -           persons
    team_models                     staff       -
    team_model                      nobody      -
    change_model_rule               -           staff
    new_model_server                staff       staff
    model_server                    staff       staff
    remove_model_server             -           staff
    try_model_server                -           staff
    team_health                     staff       -
    team_audit                      staff       -
    team_audit_export               staff       -
    groups                          staff       staff
    group                           staff       staff

# Programs, by a key
    scim/v2/ServiceProviderConfig   nobody      nobody
    scim/v2/Schemas                 nobody      nobody
    scim/v2/ResourceTypes           nobody      nobody
    scim/v2/Users                   nobody      nobody
    scim/v2/Groups                  nobody      nobody
    scim/v2/Users/<int:row_id>      nobody      nobody
    scim/v2/Groups/<int:row_id>     nobody      nobody
    api/v1/                         nobody      nobody
    api/sessions                    nobody      -

# Conversations
    chat                            persons     -
    search                          persons     -
    sessions                        persons     -
    older_sessions                  persons     -
    conversations                   persons     -
    conversation                    members     -
    messages_after                  members     -
    post_frame                      -           any-id
    send                            -           writers
    attach                          -           writers
    attachment                      members     -
    file_viewers                    members     -
    remove_attachment               -           any-id
    stop                            -           writers
    end                             -           members
    read                            -           any-id
    session_menu                    members     -
    rename                          managers    managers
    organise                        -           persons
    rename_folder                   -           author
    delete_folder                   -           author
    stop_sub_session                -           author
    commands                        persons     -
    news                            persons     -
    more                            persons     -

# Invitations to spaces: tests/oneclaw/people/test_space_invitations.py
    answer_space_invitation         -           nobody
    withdraw_space_invitation       -           nobody

# Messages
    message_details                 members     -
    message_raw                     members     -
    message_source                  members     -
    message_said                    nobody      -
    leave                           members     -
    message_context                 members     -
    message_context_json            members     -
    message_memories                private     -
    memory_undo_saves               -           private
    memory_feedback                 -           private
    message_rate                    -           private
    message_edit                    author      author
    message_show                    -           writers
    message_retry                   -           writers
    message_continue                -           writers
    message_fork                    -           members

# What the model is sent
    meter                           members     -
    context                         members     -
    context_json                    members     -
    compact                         writers     writers
    rounds                          members     -
    round                           members     -
    edit_round                      writers     writers
    undo_round                      -           writers

# Sharing, exports and imports
    share                           author      author
    unshare                         -           any-id
    share_with_space                managers    author
    make_private                    -           managers
    move_to_space                   author      author
    session_viewers                 members     -
    shared_links                    persons     -
    revoke                          -           any-id
    shared                          members     -
    copy_shared                     members     members
    export_markdown                 members     -
    export_json                     members     -
    export_many                     persons     persons
    import                          persons     persons
    import_progress                 author      -

# Prompts, agents, schedules and channels
    prompts                         persons     persons
    edit_prompt                     author      author
    delete_prompt                   -           author
    agents                          persons     persons
    new_agent                       persons     persons
    edit_agent                      author      author
    delete_agent                    author      author
    schedules                       persons     persons
    schedule_news                   persons     -
    new_task                        persons     persons
    edit_task                       author      author
    schedule_history                author      -
    run_schedule                    -           author
    switch_task                     -           author
    delete_task                     author      author
    answer_task                     -           author
    channels                        persons     persons
    channel                         author      author
    reset_channel                   -           author
    make_link_code                  persons     persons
    unlink                          -           any-id

# Spaces
    spaces                          persons     -
    new_space                       persons     persons
    space                           members     -
    space_viewers                   members     -
    space_members                   members     -
    space_memory                    members     -
    space_memory_zip                members     -
    space_instructions              members     writers
    edit_space                      owners      owners
    archive_space                   -           owners
    delete_space                    owners      owners
    add_space_member                -           owners
    space_member                    -           owners
    space_group                     -           owners
    hand_over_space                 owners      owners
    leave_space                     -           members

# Memory
    memory                          persons     -
    memory_choice                   persons     -
    chosen_documents                any-id      any-id
    memory_topic                    author      -
    memory_search                   persons     -
    memory_diary                    persons     -
    memory_past                     persons     -
    memory_files                    persons     -
    memory_document                 members     -
    memory_document_viewers         members     -
    memory_version                  members     -
    memory_edit                     owners      owners
    memory_restore                  -           owners
    memory_delete_line              -           owners
    memory_put_back                 -           owners
    memory_file_waiting             -           persons
    memory_gone                     -           owners
    memory_entry                    owners      owners
    memory_entry_row                owners      -
    memory_entry_confirm            -           owners
    memory_entry_propose            nobody      -
    memory_entry_forget             owners      owners
    memory_undo                     owners      owners
    memory_inbox                    persons     -
    memory_propose                  persons     nobody
    memory_proposal                 -           members
    memory_suggestion               -           writers
    memory_decide                   -           owners
    memory_take_out                 -           owners
    memory_review                   -           owners
    memory_review_undo              -           owners
    memory_forget                   persons     persons
    memory_forgotten                forgetters  -
    memory_receipt                  forgetters  -
    memory_switches                 persons     persons
    memory_looks                    persons     -
    memory_programs                 persons     persons
    memory_program                  author      author
    memory_program_revoke           -           author
    memory_instructions             persons     persons
    memory_export                   persons     -
    memory_import                   persons     persons
    memory_import_confirm           -           persons
    memory_walk                     any-id      -
    memory_walk_close               -           any-id
    memory_lab                      persons     -
    memory_lab_keep                 -           persons
    memory_lab_run                  -           persons
    memory_lab_drop                 -           any-id

# Skills and libraries
    memory_skills                   persons     -
    memory_new_skill                persons     persons
    memory_import_skills            persons     persons
    memory_skill                    members     -
    memory_edit_skill               writers     writers
    memory_delete_skill             writers     writers
    memory_approve_skill            -           members
    memory_skill_off                -           members
    library                         persons     -
    library_add                     -           persons
    library_file                    members     -
    library_version                 members     -
    library_remove                  writers     writers
"""

# The operations of the API's own description.
OPERATIONS = """
    me                              persons
    usage                           persons
    models                          persons
    agents                          persons
    search                          members

    session_list                    persons
    session                         members
    message_list                    members
    export                          members
    send                            persons
    stop                            writers
    change_session                  members
    delete_session                  managers
    restore_session                 members
    reset                           managers
    context                         members
    compact                         writers
    round_list                      members
    change_round                    writers
    undo_round                      writers
    share_session                   author
    sharing_preview                 author
    unshare_session                 managers
    link_list                       persons
    make_link                       author
    revoke_link                     author
    copy_link                       persons

    space_list                      persons
    make_space                      persons
    space                           members
    change_space                    owners
    delete_space                    owners
    leave_space                     members
    hand_over_space                 owners
    member_list                     members
    add_member                      owners
    change_member                   owners
    remove_member                   owners
    remove_group                    owners
    space_invitation_list           persons
    accept_space_invitation         nobody
    decline_space_invitation        nobody

    memory_space_list               persons
    document_list                   members
    document                        members
    revision_list                   members
    replace_document                writers
    append_to_document              writers
    suggestion_list                 persons
    answer_suggestion               writers
    proposal_list                   members
    propose                         members
    answer_proposal                 members
    skill_list                      persons
    skill                           members
    library_file_list               members
    add_library_file                persons
    library_file                    members
    library_file_content            members
    library_file_text               members
    remove_library_file             writers
    search_library                  members
"""

# The frames that a client sends, about a conversation that is shared with the space, or a message of it.
FRAMES = """
    ping                            persons
    writing                         members
    open                            members
    show                            writers
    send                            writers
    edit                            author
    retry                           writers
    continue                        writers
    stop                            writers
    take_back                       writers
"""

# The tools of the model: whom a call tells words of the rows, in a private conversation of theirs in the space, and in
# one that is shared with it, where the private rows of whoever asks are left out too. "-": it is not offered there.
TOOLS = """
                                    PRIVATE     SHARED

    memory_search                   members     writers
    memory_get                      members     writers
    documents_search                members     -
    documents_get                   members     -
    skill_read                      members     writers
    save_memory                     members     writers
    read_result                     nobody      writers
    schedule                        nobody      -
    sessions_list                   author      -
    sessions_history                author      -
    sessions_send                   author      -
    sessions_spawn                  nobody      -
"""

# The commands of manage.py that take a person (--user), with the space where they take one.
COMMANDS = """
    space list                      persons
    memory status                   members
    memory index                    members
    memory search                   members
    memory flush                    members
    memory import                   writers
    memory export                   members
    memory forget                   forgetters
    memory skills                   persons
    memory lab                      members
    library add                     writers
    library list                    members
    library export                  members
"""

# Shared links, by their scope.
LINKS = """
    everybody                       everybody
    signed_in                       persons
    space                           members
"""
