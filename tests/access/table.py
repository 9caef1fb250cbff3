"""For whom each address, operation, frame and tool is: the one place where that is written down for the tests.

A rule says who gets in at a row that is shared with the space. A private row of the author is the author's alone
        under
every rule, and who has no role in the space gets the same as for a row that does not exist.
"""

SEES = frozenset({"owner", "author", "editor", "reader", "grouped"})
WRITES = frozenset({"owner", "author", "editor"})
# Who manages a shared conversation; who owns the space; who has begun the conversation, or whose row it is.
MANAGES, OWNS, BEGAN = frozenset({"owner", "author"}), frozenset({"owner"}), frozenset({"author"})
# The owners of a space, and who may forget in every space by a role of the server.
FORGETS, STAFF = frozenset({"owner", "staff"}), frozenset({"staff"})
PERSONS = SEES | {"former", "stranger", "staff"}
EVERYBODY = PERSONS | {"outsider"}
# There for nobody in this cast: no such row, a row without what is asked for, or not switched on.
NOBODY = frozenset[str]()
# Answers everybody who is signed in alike, whatever the id is, and does nothing with what is another person's.
ALIKE = "alike"

GET = {
    EVERYBODY: "healthz readyz diagrams manifest favicon.ico",
    PERSONS: """usage send_archive import_account delete_account make_key settings chat search sessions commands
        prompts agents
        new_agent schedules schedule_news new_task spaces new_space make_link_code channels conversations
        export_many import news shared_links memory_choice memory memory_search memory_past memory_lab memory_files
        library
        memory_switches memory_looks memory_skills memory_new_skill memory_import_skills memory_instructions
        memory_export memory_import memory_inbox memory_propose memory_forget""",
    STAFF: """groups group team team_people team_person offboard invitations team_keeping team_usage team_usage_csv
        team_budgets
        team_settings team_audit team_audit_export team_health""",
    SEES: """conversation messages_after attachment session_menu meter context rounds context_json export_markdown
        export_json space space_viewers space_members session_viewers file_viewers message_details message_raw
        shared copy_shared library_file library_version space_memory space_instructions memory_document_viewers
        memory_document memory_version""",
    WRITES: "compact library_remove",
    MANAGES: "rename share_with_space",
    OWNS: """edit_space delete_space memory_edit memory_entry memory_entry_row memory_entry_forget memory_undo""",
    BEGAN: """share edit_prompt edit_agent delete_agent edit_task schedule_history delete_task move_to_space channel
        import_progress message_edit""",
    FORGETS: "memory_forgotten memory_receipt",
    NOBODY: """offboarding offboarding_receipt remove_rule end_hold team_budget message_source welcome invited
        first_account metrics end_device older_sessions round edit_round message_context
        message_context_json memory_topic message_memories memory_skill memory_edit_skill memory_delete_skill
        memory_entry_propose stop_sub_session scim/v2/ServiceProviderConfig scim/v2/Schemas scim/v2/ResourceTypes
        scim/v2/Users scim/v2/Groups scim/v2/Users/<int:row_id> scim/v2/Groups/<int:row_id> api/v1/ api/sessions""",
    ALIKE: "memory_walk chosen_documents",
}
# Who must not get further than to what is not there. What those who may do is the subject of other tests.
POST = {
    PERSONS: """import_account delete_account dismiss_announcement make_key settings prompts new_agent schedules
        new_task new_space
        channels make_link_code organise export_many import memory_lab_keep memory_lab_run library_add
        memory_switches memory_new_skill memory_import_skills memory_instructions memory_import
        memory_import_confirm memory_forget""",
    STAFF: """groups group team sign_out_person offboard set_rule set_hold team_budgets change_setting change_role
        set_active give_link invite invite_many renew_invitation revoke_invitation
        decide_sign_up""",
    SEES: "end leave_space message_show message_fork message_retry message_continue copy_shared memory_proposal",
    WRITES: "stop attach compact library_remove space_instructions memory_suggestion",
    MANAGES: "rename make_private",
    OWNS: """edit_space archive_space delete_space add_space_member space_member space_group memory_edit
        memory_restore memory_delete_line memory_entry memory_entry_confirm memory_entry_forget memory_put_back
        memory_gone memory_decide memory_undo""",
    BEGAN: """share share_with_space edit_prompt delete_prompt edit_agent delete_agent edit_task run_schedule
        switch_task delete_task answer_task move_to_space channel reset_channel rename_folder delete_folder
        message_edit""",
    NOBODY: """offboarding offboarding_receipt remove_rule end_hold team_budget welcome invited first_account
        end_device edit_round undo_round hand_over_space message_rate
        memory_feedback memory_edit_skill memory_delete_skill memory_approve_skill memory_skill_off
        memory_take_out memory_review memory_propose stop_sub_session scim/v2/ServiceProviderConfig
        scim/v2/Schemas scim/v2/ResourceTypes scim/v2/Users scim/v2/Groups scim/v2/Users/<int:row_id>
        scim/v2/Groups/<int:row_id> api/v1/""",
    # They begin a conversation under a new id, or change own rows alone.
    ALIKE: """post_frame send read unshare remove_attachment revoke_key unlink revoke memory_lab_drop
        memory_walk_close chosen_documents""",
}
API = {
    PERSONS: """me usage models agents session_list send space_list make_space link_list copy_link document_list
        search
        library_file_list add_library_file search_library suggestion_list skill_list replace_document
        append_to_document""",
    SEES: """session message_list export context round_list space member_list leave_space library_file
        library_file_content library_file_text proposal_list propose answer_proposal restore_session
        change_session""",
    MANAGES: "delete_session unshare_session reset",
    OWNS: "change_space delete_space add_member change_member remove_member hand_over_space remove_group",
    BEGAN: "make_link sharing_preview share_session revoke_link document revision_list",
    NOBODY: "change_round undo_round skill",
    WRITES: "stop compact remove_library_file answer_suggestion",
}
# Ids under other names: of the second kind of links, of a question instead of an answer, and of the groups of a
# space.
OTHER_IDS = {
    "unlink": {"link_id": "linked_id"},
    "message_edit": {"message_id": "question"},
    "remove_group": {"group_id": "held_id"},
}
# What an operation needs before it looks for a row.
BODIES = {
    "change_round": {"summary": "x"},
    "change_member": {"role": "reader"},
    "share_session": {"space": 1},
    "answer_suggestion": {"answer": "accept"},
    "propose": {"text": "x"},
    "answer_proposal": {"answer": "accept"},
}
QUERIES = {"sharing_preview": "?space=1"}
# Pages about the own sign-in, which take no id of anybody's rows; and the administration, which has its own test.
APART = ("admin", "account", "mfa", "sso", "saml", "socialaccount")
# What others than those of the rule read on a page: names for those who keep groups or read the audit log, and
# what the author has shared by a link.
MORE_WORDS = {
    "group": {"zqspace"},
    "team_keeping": {"zqspace"},
    "team_audit": {"zqspace"},
    "memory_forget": {"zqspace"},
    "memory_forgotten": {"zqspace"},
    "memory_receipt": {"zqspace"},
    "shared": {"zqprivateasked", "zqprivateanswer", "zqprivatetitle"},
    "copy_shared": {"zqprivatetitle"},
}


def by_name(rules):
    """Return {name: rule}. Each name has one rule."""
    found = [(name, rule) for rule, names in rules.items() for name in names.split()]
    assert len(found) == len(dict(found)), "a name has two rules"
    return dict(found)
